// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/proto/shared_messages.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>

namespace trainhook::detail {

TensorShapeMessage shape_message(std::span<const std::int64_t> dims) {
  TensorShapeMessage shape;
  for (const std::int64_t size : dims) shape.dim.push_back({size});
  return shape;
}

std::vector<std::int64_t> dims_of(const TensorShapeMessage& shape) {
  std::vector<std::int64_t> dims;
  for (const TensorDimMessage& dim : shape.dim) dims.push_back(dim.size);
  return dims;
}

std::string_view data_type_name(std::uint64_t number) {
  const DTypeInfo* const known = number < 256 ? find_dtype(static_cast<DType>(number)) : nullptr;
  return known != nullptr ? known->proto : std::string_view();
}

std::string short_dtype_name(std::uint64_t number) {
  if (!data_type_name(number).empty()) return std::string(dtype_name(static_cast<DType>(number)));
  const auto other = std::ranges::find(kOtherDTypes, number, &OtherDType::number);
  if (other == kOtherDTypes.end()) return fmt::format("dtype {}", number);
  std::string name(other->name.substr(std::string_view("DT_").size()));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

std::optional<std::uint64_t> data_type_of_name(std::string_view name) {
  if (name.ends_with("_REF")) name.remove_suffix(4);
  const auto known = std::ranges::find(kDTypes, name, &DTypeInfo::proto);
  if (known != kDTypes.end()) return static_cast<std::uint64_t>(known->dtype);
  if (name == "DT_INVALID") return 0;
  const auto other = std::ranges::find(kOtherDTypes, name, &OtherDType::name);
  return other != kOtherDTypes.end() ? std::optional(other->number) : std::nullopt;
}

}  // namespace trainhook::detail
