// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of share_variables.hpp.
#pragma once

#include <trainhook/session/share_variables.hpp>

#include <cstddef>
#include <cstring>
#include <span>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void share_variables(SessionRef session, bool is_source,
                                    FunctionRef<std::string(std::string)> broadcast) {
  for (const StateSpec& spec : session.state()) {
    if (spec.kind != StateKind::Variable || spec.dtype == DType::String) continue;
    const NamedTensor mine = session.snapshot(std::span(&spec.name, 1)).at(0);
    const std::span<const std::byte> bytes = mine.tensor.bytes();
    const std::string shared =
        broadcast(is_source ? std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) : "");
    if (is_source) continue;
    if (shared.size() != bytes.size()) {
      throw InvalidArgumentError(
          "the variable '{}' has {} bytes on this rank and {} where its value comes from: all "
          "ranks must have the same variables",
          spec.name, bytes.size(), shared.size());
    }
    NamedTensor value{.name = spec.name, .tensor = Tensor::uninitialized(mine.tensor.dtype(), mine.tensor.shape())};
    std::memcpy(value.tensor.overwrite_bytes().data(), shared.data(), shared.size());
    session.load(std::span(&value, 1));
  }
}

}  // namespace trainhook::detail
