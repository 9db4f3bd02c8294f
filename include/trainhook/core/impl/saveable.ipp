// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/saveable.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/user_call.hpp>

namespace trainhook {

void StateValues::set(std::string name, Tensor value) { entries_.push_back({std::move(name), std::move(value)}); }

const Tensor* StateValues::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(entries_, name, &NamedTensor::name);
  return found == entries_.end() ? nullptr : &found->tensor;
}

const Tensor& StateValues::at(std::string_view name) const {
  if (const Tensor* value = find(name)) return *value;
  throw NotFoundError("the saved state has no value '{}'", name);
}

Saveable::~Saveable() = default;

namespace detail {

std::vector<NamedTensor> entries_of(Saveable& saveable) {
  const std::string name = saveable.name();
  const StateValues values = call_of_saveable("save of Saveable", name, [&] { return saveable.save(); });
  std::vector<NamedTensor> entries;
  for (const NamedTensor& entry : values.entries())
    entries.push_back({entry.name.empty() ? name : fmt::format("{}/{}", name, entry.name), entry.tensor});
  return entries;
}

}  // namespace detail
}  // namespace trainhook
