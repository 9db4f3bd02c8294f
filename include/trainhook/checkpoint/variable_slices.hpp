// SPDX-License-Identifier: Apache-2.0
/// @file
/// VariableSlices: the variables of a graph that are parts of partitioned ones, and their form in checkpoints.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

enum class BundleFiles;
class BundleWriter;
class CheckpointContents;
class Graph;
struct SaveSliceInfo;
class Shape;
struct StateMemory;
struct StateSpec;
class Tensor;
class TensorSlice;

namespace detail {

/// The region of a part in the whole variable.
[[nodiscard]] TRAINHOOK_DECL TensorSlice region_of(const SaveSliceInfo& slice);
[[nodiscard]] TRAINHOOK_DECL Shape full_shape_of(const SaveSliceInfo& slice);

/// A graph offers it to savers if other processes of a job have parts of tensors.
struct TensorsOfOthers {
  std::vector<std::string> names{};
};

class VariableSlices {
 public:
  VariableSlices() = default;

  /// Finds the parts among the global variables of `graph`.
  TRAINHOOK_DECL explicit VariableSlices(const Graph& graph);

  /// The region of the variable `name`; null if it is not a part of a partitioned one.
  [[nodiscard]] TRAINHOOK_DECL const SaveSliceInfo* find(std::string_view name) const noexcept;

  /// Whether `name` is a part that only this process of a job has; and all such names.
  [[nodiscard]] TRAINHOOK_DECL bool is_own(std::string_view name) const noexcept;
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> own() const;

  /// How a restore opens data files, whose number grows with those of the processes that have parts.
  [[nodiscard]] TRAINHOOK_DECL BundleFiles files_of_restore() const;

  /// Stores the tensor of variable `name`: as a slice if the variable is a part, or else as a tensor. A large part of
  /// this process becomes several slices, so that processes with other parts read little more than those.
  TRAINHOOK_DECL void add(BundleWriter& writer, const std::string& name, const Tensor& tensor) const;
  TRAINHOOK_DECL void add(BundleWriter& writer, const std::string& name, const StateMemory& elements) const;

  /// Reads the value of a part from a checkpoint of the whole variable, however that was partitioned when saved.
  /// @throws NotFoundError if it is missing, InvalidArgumentError if dtype or shape differ.
  [[nodiscard]] TRAINHOOK_DECL static Tensor read(const CheckpointContents& contents, const SaveSliceInfo& slice,
                                                  const StateSpec& variable);

  /// Throws as `read` if the tensor of which the variable is a part is missing or another one.
  TRAINHOOK_DECL static void expect_tensor_of(const CheckpointContents& contents, const SaveSliceInfo& slice,
                                              const StateSpec& variable);

 private:
  std::map<std::string, std::shared_ptr<const SaveSliceInfo>, std::less<>> slices_;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/variable_slices.ipp>
#endif
