// SPDX-License-Identifier: Apache-2.0
/// @file
/// VariableSlices: the variables of a graph that are parts of partitioned ones, and how checkpoints hold them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <trainhook/checkpoint/bundle_reader.hpp>
#include <trainhook/checkpoint/tensor_slice.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

class BundleWriter;

namespace detail {

/// The region and the shape of the whole.
[[nodiscard]] TRAINHOOK_DECL TensorSlice region_of(const SaveSliceInfo& slice);
[[nodiscard]] TRAINHOOK_DECL Shape full_shape_of(const SaveSliceInfo& slice);

class VariableSlices {
 public:
  VariableSlices() = default;

  /// Of the global variables.
  TRAINHOOK_DECL explicit VariableSlices(const Graph& graph);

  /// The region that the variable `name` is; null if it is not a part of a partitioned one.
  [[nodiscard]] TRAINHOOK_DECL const SaveSliceInfo* find(std::string_view name) const noexcept;

  /// Stores a tensor as what its name says: a slice, or a tensor of its own.
  TRAINHOOK_DECL void add(BundleWriter& writer, const std::string& name, const Tensor& tensor) const;

  /// The value of a part, out of a checkpoint that holds the whole, however that was partitioned when it was saved.
  /// @throws NotFoundError if it is not there, InvalidArgumentError if dtype or shape differ.
  [[nodiscard]] TRAINHOOK_DECL static Tensor read(const BundleReader& reader, const SaveSliceInfo& slice,
                                                  const StateSpec& variable);

 private:
  std::map<std::string, std::shared_ptr<const SaveSliceInfo>, std::less<>> slices_;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/variable_slices.ipp>
#endif
