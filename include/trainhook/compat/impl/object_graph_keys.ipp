// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/object_graph_keys.hpp>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

/// SerializedTensor of a TrackableObject.
struct ObjectAttributeMessage {
  std::string_view full_name{};
  std::string_view checkpoint_key{};
};
template <>
inline constexpr auto kFields<ObjectAttributeMessage> =
    std::tuple(field(2, "full_name", &ObjectAttributeMessage::full_name),
               field(3, "checkpoint_key", &ObjectAttributeMessage::checkpoint_key));

/// TrackableObject.
struct ObjectMessage {
  std::vector<ObjectAttributeMessage> attributes{};
};
template <>
inline constexpr auto kFields<ObjectMessage> = std::tuple(field(2, "attributes", &ObjectMessage::attributes));

/// TrackableObjectGraph.
struct ObjectGraphMessage {
  std::vector<ObjectMessage> nodes{};
};
template <>
inline constexpr auto kFields<ObjectGraphMessage> = std::tuple(field(1, "nodes", &ObjectGraphMessage::nodes));

/// A bundle in which names that it lacks are looked up as full names.
class ObjectBasedContents final : public CheckpointContents {
 public:
  ObjectBasedContents(std::unique_ptr<CheckpointContents> bundle, ObjectGraphKeys keys)
      : bundle_(std::move(bundle)), keys_(std::move(keys)), full_names_(keys_.full_names()) {}

  [[nodiscard]] const std::string& path() const noexcept override { return bundle_->path(); }
  [[nodiscard]] std::optional<Entry> find(std::string_view name) const override {
    std::optional<Entry> found = bundle_->find(name);
    if (found || !keys_.keys().contains(name)) return found;
    found = bundle_->find(keys_.key(name));
    if (!found)
      static_cast<void>(bundle_->read(keys_.key(name)));  // throws: the index lacks what the object graph names
    return found;
  }
  [[nodiscard]] Tensor read(std::string_view name) const override { return bundle_->read(key(name)); }
  [[nodiscard]] Tensor read(std::string_view name, const TensorSlice& region) const override {
    return bundle_->read(key(name), region);
  }
  [[nodiscard]] std::vector<std::string> names(std::string_view beginning) const override {
    std::vector<std::string> names = bundle_->names({});
    std::erase(names, ObjectGraphKeys::kObjectGraph);
    for (std::string& name : names) {
      const auto full = full_names_.find(name);
      if (full != full_names_.end() && !bundle_->find(full->second)) name = full->second;
    }
    std::erase_if(names, [&](const std::string& name) { return !name.starts_with(beginning); });
    std::ranges::sort(names);
    return names;
  }
  [[noreturn]] void refuse(std::string_view variable) const override {
    throw NotFoundError("object-based checkpoint {} has no variable {}; {}", path(), variable,
                        suggest_keys(keys_.keys(), variable));
  }

 private:
  [[nodiscard]] std::string_view key(std::string_view name) const {
    return bundle_->find(name) ? name : keys_.key(name);
  }

  std::unique_ptr<CheckpointContents> bundle_;
  ObjectGraphKeys keys_;
  ObjectGraphKeys::Keys full_names_;  // by key
};

}  // namespace trainhook::detail

namespace trainhook {

ObjectGraphKeys::ObjectGraphKeys(const BundleReader& reader)
    : ObjectGraphKeys(reader.prefix(), reader.get_tensor(kObjectGraph)) {}

ObjectGraphKeys::ObjectGraphKeys(std::string path, const Tensor& object_graph) : prefix_(std::move(path)) {
  if (object_graph.dtype() != DType::String || object_graph.num_elements() != 1) {
    throw DataLossError("checkpoint {} is damaged: its object graph is {}{}, not a string", prefix_,
                        object_graph.dtype(), object_graph.shape());
  }
  const std::string bytes = object_graph.scalar<std::string>();
  const std::string what = fmt::format("the object graph of checkpoint {}", prefix_);
  for (const detail::ObjectMessage& node : detail::parse_message<detail::ObjectGraphMessage>(bytes, what).nodes) {
    for (const detail::ObjectAttributeMessage& attribute : node.attributes) {
      if (attribute.full_name.empty() || attribute.checkpoint_key.empty()) continue;  // state that is not a variable
      const auto [place, is_new] = keys_.try_emplace(std::string(attribute.full_name), attribute.checkpoint_key);
      if (!is_new && place->second != attribute.checkpoint_key)
        others_.emplace(attribute.full_name, attribute.checkpoint_key);
    }
  }
}

ObjectGraphKeys::Keys ObjectGraphKeys::full_names() const {
  Keys names;
  for (const auto& [full_name, key] : keys_)
    if (!others_.contains(full_name)) names.emplace(key, full_name);
  return names;
}

const std::string& ObjectGraphKeys::key(std::string_view full_name) const {
  const auto found = keys_.find(full_name);
  if (found == keys_.end()) {
    throw NotFoundError("object-based checkpoint {} has no variable {}; {}", prefix_, full_name,
                        detail::suggest_keys(keys_, full_name));
  }
  if (const auto other = others_.find(full_name); other != others_.end()) {
    throw InvalidArgumentError(
        "object-based checkpoint {} has several variables called {}: {} and {}; read them by these keys, or save them "
        "under names of their own",
        prefix_, full_name, found->second, other->second);
  }
  return found->second;
}

std::unique_ptr<CheckpointContents> open_object_based(const std::string& path, FileSystem& file_system,
                                                      BundleFiles files) {
  std::unique_ptr<CheckpointContents> bundle = open_bundle(path, file_system, files);
  if (!bundle->find(ObjectGraphKeys::kObjectGraph)) return bundle;
  log_info("checkpoint {} is object-based; variables are found in it by their full names", path);
  ObjectGraphKeys keys(path, bundle->read(ObjectGraphKeys::kObjectGraph));
  return std::make_unique<detail::ObjectBasedContents>(std::move(bundle), std::move(keys));
}

}  // namespace trainhook
