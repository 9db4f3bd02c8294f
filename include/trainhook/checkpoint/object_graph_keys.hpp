// SPDX-License-Identifier: Apache-2.0
/// @file
/// ObjectGraphKeys: finds variables of an object-based checkpoint (TensorFlow 2's `tf.train.Checkpoint`) by name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <trainhook/checkpoint/bundle_reader.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// Such a checkpoint stores a variable under its path from the saved object, for example
/// `model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE`. It also stores a TrackableObjectGraph, which has the variable's
/// full name as in TensorFlow 1: `dense/kernel`, and `dense/kernel/Adam` for a slot. Source: TensorFlow 1's `Saver`,
/// which restores from these by full name.
class ObjectGraphKeys {
 public:
  /// By full name.
  using Keys = std::map<std::string, std::string, std::less<>>;

  [[nodiscard]] static bool is_object_based(const BundleReader& reader) { return reader.has_tensor(kObjectGraph); }

  /// @throws NotFoundError if the checkpoint is not object-based, DataLossError if its graph is damaged.
  TRAINHOOK_DECL explicit ObjectGraphKeys(const BundleReader& reader);

  [[nodiscard]] const Keys& keys() const noexcept { return keys_; }

  /// The key under which the checkpoint stores the variable. @throws NotFoundError, which lists similar names, or
  /// InvalidArgumentError if several variables have this name.
  [[nodiscard]] TRAINHOOK_DECL const std::string& key(std::string_view full_name) const;

 private:
  static constexpr std::string_view kObjectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";

  std::string prefix_;
  Keys keys_;
  Keys others_;  // for names that occur twice
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/object_graph_keys.ipp>
#endif
