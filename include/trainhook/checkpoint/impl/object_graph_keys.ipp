// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of object_graph_keys.hpp.
#pragma once

#include <trainhook/checkpoint/object_graph_keys.hpp>

#include <utility>

#include <fmt/core.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/name_suggestion.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

TRAINHOOK_DECL ObjectGraphKeys::ObjectGraphKeys(const BundleReader& reader) : prefix_(reader.prefix()) {
  const Tensor graph = reader.get_tensor(kObjectGraph);
  if (graph.dtype() != DType::String || graph.num_elements() != 1) {
    throw DataLossError("checkpoint {} is damaged: its object graph is {}, not a string", prefix_, graph);
  }
  const std::string bytes = graph.scalar<std::string>();
  const std::string what = fmt::format("the object graph of checkpoint {}", prefix_);
  WireReader(bytes, what).for_each_field(1, [this](WireReader& nodes) {
    nodes.get_message().for_each_field(2, [this](WireReader& attributes) { add_attribute(attributes.get_message()); });
  });
}

TRAINHOOK_DECL const std::string& ObjectGraphKeys::key(std::string_view full_name) const {
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

TRAINHOOK_DECL void ObjectGraphKeys::add_attribute(WireReader attribute) {
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

}  // namespace trainhook
