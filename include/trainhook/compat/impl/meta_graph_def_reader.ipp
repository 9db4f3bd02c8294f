// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/meta_graph_def_reader.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/model/graph_def/graph_def_messages.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message_text.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

/// SavedModel.
struct SavedModelMessage {
  std::vector<Serialized<MetaGraphMessage>> meta_graphs{};
};
template <>
inline constexpr auto kFields<SavedModelMessage> = std::tuple(field(2, "meta_graphs", &SavedModelMessage::meta_graphs));

inline bool is_saved_model(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "saved_model.pb" || name == "saved_model.pbtxt";
}

inline MetaGraphDef parse_saved_model(std::string_view bytes, std::string_view what) {
  const auto model = parse_message<SavedModelMessage>(bytes, what);
  if (model.meta_graphs.empty())
    throw DataLossError("{} is damaged or of another format: there is no graph in it", what);
  const auto serves = [&](const Serialized<MetaGraphMessage>& graph) {
    const auto info = parse_message<MetaGraphMessage>(graph, what).meta_info_def;
    return info && std::ranges::find(info->tags, "serve") != info->tags.end();
  };
  const auto found = std::ranges::find_if(model.meta_graphs, serves);
  return parse_meta_graph(found == model.meta_graphs.end() ? model.meta_graphs[0] : *found, what);
}

inline SaverDef saver_def(const SaverMessage& message, std::string_view what) {
  return {.filename_tensor_name = checked_name(message.filename_tensor_name, what),
          .save_tensor_name = checked_name(message.save_tensor_name, what),
          .restore_op_name = checked_name(message.restore_op_name, what),
          .max_to_keep = message.max_to_keep,
          .sharded = message.sharded,
          .keep_checkpoint_every_n_hours = message.keep_checkpoint_every_n_hours.value_or(0.0F)};
}

inline CollectionDef collection_def(const CollectionEntryMessage& entry, std::string_view what) {
  CollectionDef collection{.key = checked_name(entry.key.value_or(""), what)};
  if (entry.value.node_list) {
    for (const std::string_view name : entry.value.node_list->value)
      collection.nodes.push_back(checked_name(name, what));
  }
  if (entry.value.bytes_list)
    collection.messages.assign(entry.value.bytes_list->value.begin(), entry.value.bytes_list->value.end());
  return collection;
}

}  // namespace trainhook::detail

namespace trainhook {

MetaGraphDef parse_meta_graph(std::string_view bytes, std::string_view what) {
  detail::WireReader reader(bytes, what);
  detail::MetaGraphMessage message;
  detail::read_message(reader, message);
  if (!message.graph_def) throw DataLossError("{} is damaged or of another format: there is no graph in it", what);
  MetaGraphDef def{.graph_def = detail::GraphDefReader(what).read(reader.message_in(*message.graph_def))};
  if (message.meta_info_def) def.tensorflow_version = message.meta_info_def->tensorflow_version;
  if (message.saver_def) def.saver_def = detail::saver_def(*message.saver_def, what);
  for (const detail::CollectionEntryMessage& entry : message.collection_def)
    def.collections.push_back(detail::collection_def(entry, what));
  return def;
}

MetaGraphDef parse_meta_graph_text(std::string_view text, std::string_view what) {
  return parse_meta_graph(detail::wire_from_text(text, what, detail::kTextFields<detail::MetaGraphMessage>), what);
}

MetaGraphDef read_meta_graph(FileSystem& file_system, const std::string& path) {
  const std::string content = read_file(file_system, path);
  if (detail::is_saved_model(path)) {
    return detail::is_text_name(path)
               ? detail::parse_saved_model(
                     detail::wire_from_text(content, path, detail::kTextFields<detail::SavedModelMessage>), path)
               : detail::parse_saved_model(content, path);
  }
  return detail::is_text_name(path) ? parse_meta_graph_text(content, path) : parse_meta_graph(content, path);
}

}  // namespace trainhook
