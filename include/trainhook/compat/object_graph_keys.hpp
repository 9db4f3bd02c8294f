// SPDX-License-Identifier: Apache-2.0
/// @file
/// Object-based checkpoints (TensorFlow 2's `tf.train.Checkpoint`): ObjectGraphKeys finds variables by name, and
/// open_object_based lets a Saver find them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

/// Such a checkpoint stores a variable under its path from the saved object, for example
/// `model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE`. It also stores a TrackableObjectGraph, which has the variable's
/// full name as in TensorFlow 1: `dense/kernel`, and `dense/kernel/Adam` for a slot. Source: TensorFlow 1's `Saver`,
/// which restores from these by full name.
class ObjectGraphKeys {
 public:
  /// By full name.
  using Keys = std::map<std::string, std::string, std::less<>>;

  /// The tensor that only such checkpoints have.
  static constexpr std::string_view kObjectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";

  [[nodiscard]] static bool is_object_based(const BundleReader& reader) { return reader.has_tensor(kObjectGraph); }

  /// @throws NotFoundError if the checkpoint is not object-based, DataLossError if its graph is damaged.
  TRAINHOOK_DECL explicit ObjectGraphKeys(const BundleReader& reader);

  /// The same, of that tensor of the checkpoint `path`.
  TRAINHOOK_DECL ObjectGraphKeys(std::string path, const Tensor& object_graph);

  [[nodiscard]] const Keys& keys() const noexcept { return keys_; }

  /// Full names by key, without those that several variables have.
  [[nodiscard]] TRAINHOOK_DECL Keys full_names() const;

  /// The key under which the checkpoint stores the variable. @throws NotFoundError, which lists similar names, or
  /// InvalidArgumentError if several variables have this name.
  [[nodiscard]] TRAINHOOK_DECL const std::string& key(std::string_view full_name) const;

 private:
  std::string prefix_;
  Keys keys_;
  Keys others_;  // for names that occur twice
};

/// A CheckpointFormat, for `SaverOptions::format` or a CheckpointSource: as open_bundle, and in a checkpoint that is
/// object-based, what has no tensor of its own name is also found by its full name, and listed by it.
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<CheckpointContents> open_object_based(const std::string& path,
                                                                                   FileSystem& file_system,
                                                                                   BundleFiles files);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/object_graph_keys.ipp>
#endif
