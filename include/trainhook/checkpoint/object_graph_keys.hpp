// SPDX-License-Identifier: Apache-2.0
/// @file
/// ObjectGraphKeys: variables of an object-based checkpoint (TensorFlow 2's `tf.train.Checkpoint`) by their names.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/checkpoint/bundle_reader.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/name_suggestion.hpp>
#include <trainhook/io/wire.hpp>

namespace trainhook {

/// Such a checkpoint keeps a variable under the way from the saved object to it, as in `model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE`, and
/// a graph of the objects (a TrackableObjectGraph) that also gives the variable's full name, as TensorFlow 1 has it: `dense/kernel`, and
/// `dense/kernel/Adam` for a slot. Source: TensorFlow 1's `Saver`, which restores from these by full name.
class ObjectGraphKeys {
 public:
  /// By full name.
  using Keys = std::map<std::string, std::string, std::less<>>;

  [[nodiscard]] static bool is_object_based(const BundleReader& reader) { return reader.has_tensor(kObjectGraph); }

  /// @throws NotFoundError where the checkpoint is not object-based, DataLossError where its graph is damaged.
  explicit ObjectGraphKeys(const BundleReader& reader) : prefix_(reader.prefix()) {
    const Tensor graph = reader.get_tensor(kObjectGraph);
    if (graph.dtype() != DType::String || graph.num_elements() != 1) {
      throw DataLossError("checkpoint ", prefix_, " is damaged: its object graph is ", graph, ", not a string");
    }
    const std::string bytes = graph.scalar<std::string>();
    const std::string what = str_cat("the object graph of checkpoint ", prefix_);
    WireReader(bytes, what).for_each_field(1, [this](WireReader& nodes) {
      nodes.get_message().for_each_field(2, [this](WireReader& attributes) { add_attribute(attributes.get_message()); });
    });
  }

  [[nodiscard]] const Keys& keys() const noexcept { return keys_; }

  /// Under which name the checkpoint holds the variable. @throws NotFoundError, naming what is there, or InvalidArgumentError where several
  /// variables are called so.
  [[nodiscard]] const std::string& key(std::string_view full_name) const {
    const auto found = keys_.find(full_name);
    if (found == keys_.end()) {
      throw NotFoundError("object-based checkpoint ", prefix_, " has no variable ", full_name, "; ",
                          detail::suggest_keys(keys_, full_name));
    }
    if (const auto other = others_.find(full_name); other != others_.end()) {
      throw InvalidArgumentError("object-based checkpoint ", prefix_, " has several variables called ", full_name, ": ", found->second,
                                 " and ", other->second, "; read them by these keys, or save them under names of their own");
    }
    return found->second;
  }

 private:
  static constexpr std::string_view kObjectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";

  void add_attribute(WireReader attribute) {
    std::string full_name;
    std::string key;
    while (attribute.next()) {
      switch (attribute.tag()) {
        case 2: full_name = attribute.get_string(); break;
        case 3: key = attribute.get_string(); break;
        default: attribute.skip();
      }
    }
    if (full_name.empty() || key.empty()) return;  // state that is no variable
    const auto [place, is_new] = keys_.try_emplace(full_name, key);
    if (!is_new && place->second != key) others_.emplace(std::move(full_name), std::move(key));
  }

  std::string prefix_;
  Keys keys_;
  Keys others_;  // of names that are taken twice
};

}  // namespace trainhook
