// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of variable_slices.hpp.
#pragma once

#include <trainhook/checkpoint/variable_slices.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

TensorSlice region_of(const SaveSliceInfo& slice) {
  std::vector<TensorSlice::Extent> extents;
  for (std::size_t i = 0; i < slice.var_offset.size(); ++i)
    extents.push_back({.start = slice.var_offset[i], .length = slice.var_shape[i]});
  return TensorSlice(extents);
}

Shape full_shape_of(const SaveSliceInfo& slice) { return Shape(std::span<const std::int64_t>(slice.full_shape)); }

VariableSlices::VariableSlices(const Graph& graph) {
  for (const Variable& variable : global_variables(graph)) {
    if (variable.save_slice_info != nullptr) slices_.emplace(variable.name(), variable.save_slice_info);
  }
}

const SaveSliceInfo* VariableSlices::find(std::string_view name) const noexcept {
  const auto found = slices_.find(name);
  return found == slices_.end() ? nullptr : found->second.get();
}

void VariableSlices::add(BundleWriter& writer, const std::string& name, const Tensor& tensor) const {
  if (const SaveSliceInfo* slice = find(name)) {
    writer.add_slice(slice->full_name, full_shape_of(*slice), region_of(*slice), tensor);
  } else {
    writer.add(name, tensor);
  }
}

Tensor VariableSlices::read(const CheckpointContents& contents, const SaveSliceInfo& slice, const StateSpec& variable) {
  const auto whole = contents.find(slice.full_name);
  if (!whole) return contents.read(slice.full_name);  // throws
  const Shape full = full_shape_of(slice);
  if (whole->dtype != variable.dtype || whole->shape != full) {
    throw InvalidArgumentError(
        "variable '{}' is a part of '{}', which is {}{} in the model and {}{} in checkpoint {}; restore it into the "
        "model that wrote it",
        variable.name, slice.full_name, variable.dtype, full, whole->dtype, whole->shape, contents.path());
  }
  return contents.read(slice.full_name, region_of(slice));
}

}  // namespace trainhook::detail
