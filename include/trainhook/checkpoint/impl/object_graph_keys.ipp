// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of object_graph_keys.hpp.
#pragma once

#include <trainhook/checkpoint/object_graph_keys.hpp>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_messages.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/name_suggestion.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

ObjectGraphKeys::ObjectGraphKeys(const BundleReader& reader) : prefix_(reader.prefix()) {
  const Tensor graph = reader.get_tensor(kObjectGraph);
  if (graph.dtype() != DType::String || graph.num_elements() != 1) {
    throw DataLossError("checkpoint {} is damaged: its object graph is {}{}, not a string", prefix_, graph.dtype(),
                        graph.shape());
  }
  const std::string bytes = graph.scalar<std::string>();
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

}  // namespace trainhook
