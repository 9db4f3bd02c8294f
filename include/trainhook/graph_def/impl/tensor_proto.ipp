// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of tensor_proto.hpp.
#pragma once

#include <trainhook/graph_def/tensor_proto.hpp>

#include <algorithm>

namespace trainhook::detail {

TRAINHOOK_DECL bool is_constant_throughout(std::span<const std::byte> bytes, std::size_t element) {
  return std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(element), bytes.end(), bytes.begin());
}

}  // namespace trainhook::detail
