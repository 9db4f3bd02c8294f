// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/variable_slices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/checkpoint/bundle/bundle_shards.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/dtype.hpp>
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

bool VariableSlices::is_own(std::string_view name) const noexcept {
  const SaveSliceInfo* const slice = find(name);
  return slice != nullptr && slice->is_own;
}

std::vector<std::string> VariableSlices::own() const {
  std::vector<std::string> names;
  for (const auto& [name, slice] : slices_)
    if (slice->is_own) names.push_back(name);
  return names;
}

BundleFiles VariableSlices::files_of_restore() const { return own().empty() ? BundleFiles::Hold : BundleFiles::Check; }

// Stores slices of at least 1 MiB, at most 1024 of them, cut along the first dimension of more than one element.
inline void add_pieces(BundleWriter& writer, const SaveSliceInfo& part, const StateMemory& elements) {
  const Shape full = full_shape_of(part);
  const TensorSlice region = region_of(part);
  const std::uint64_t bytes = elements.bytes.size();
  const std::uint64_t piece_bytes = (std::max)(std::uint64_t{1} << 20, bytes / 1024);
  std::vector<TensorSlice::Extent> piece(region.extents().begin(), region.extents().end());
  const auto axis = std::ranges::find_if(piece, [](const TensorSlice::Extent& extent) { return extent.length > 1; });
  if (bytes <= piece_bytes || axis == piece.end()) return writer.add_slice(part.full_name, full, region, elements);
  const TensorSlice::Extent all = *axis;
  const std::uint64_t row_bytes = bytes / static_cast<std::uint64_t>(all.length);
  const auto rows = static_cast<std::int64_t>((std::max)(piece_bytes / row_bytes, std::uint64_t{1}));
  for (std::int64_t row = 0; row < all.length; row += rows) {
    *axis = {.start = all.start + row, .length = (std::min)(rows, all.length - row)};
    const TensorSlice slice(piece);
    writer.add_slice(part.full_name, full, slice,
                     {.dtype = elements.dtype,
                      .shape = slice.shape_in(full),
                      .bytes = elements.bytes.subspan(static_cast<std::size_t>(row) * row_bytes,
                                                      static_cast<std::size_t>(axis->length) * row_bytes)});
  }
}

void VariableSlices::add(BundleWriter& writer, const std::string& name, const Tensor& tensor) const {
  const SaveSliceInfo* const slice = find(name);
  if (slice == nullptr) return writer.add(name, tensor);
  if (tensor.has_value() && tensor.dtype() != DType::String) return add(writer, name, elements_of(tensor));
  if (slice->is_own && tensor.num_elements() == 0) return;
  writer.add_slice(slice->full_name, full_shape_of(*slice), region_of(*slice), tensor);
}

void VariableSlices::add(BundleWriter& writer, const std::string& name, const StateMemory& elements) const {
  const SaveSliceInfo* const slice = find(name);
  if (slice == nullptr) return writer.add(name, elements.dtype, elements.shape, elements.bytes);
  if (!slice->is_own) return writer.add_slice(slice->full_name, full_shape_of(*slice), region_of(*slice), elements);
  if (!elements.bytes.empty()) add_pieces(writer, *slice, elements);
}

void VariableSlices::expect_tensor_of(const CheckpointContents& contents, const SaveSliceInfo& slice,
                                      const StateSpec& variable) {
  const auto whole = find_readable(contents, slice.full_name);
  if (!whole) contents.refuse(slice.full_name);
  const Shape full = full_shape_of(slice);
  if (whole->dtype == variable.dtype && whole->shape == full) return;
  throw InvalidArgumentError(
      "variable '{}' is a part of '{}', which is {}{} in the model and {}{} in checkpoint {}; restore it into a "
      "model whose parts are of the same tensor",
      variable.name, slice.full_name, variable.dtype, full, whole->dtype, whole->shape, contents.path());
}

Tensor VariableSlices::read(const CheckpointContents& contents, const SaveSliceInfo& slice, const StateSpec& variable) {
  if (slice.is_own && variable.shape.known().num_elements() == 0)
    return Tensor::uninitialized(variable.dtype, variable.shape.known());
  expect_tensor_of(contents, slice, variable);
  return contents.read(slice.full_name, region_of(slice));
}

}  // namespace trainhook::detail
