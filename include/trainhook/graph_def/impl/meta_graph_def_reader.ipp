// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of meta_graph_def_reader.hpp.
#pragma once

#include <trainhook/graph_def/meta_graph_def_reader.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/graph_def/graph_def_schema.hpp>
#include <trainhook/graph_def/message_schema.hpp>
#include <trainhook/graph_def/utf8.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

class MetaGraphDefReader {
 public:
  explicit MetaGraphDefReader(std::string_view what) : what_(what) {}

  [[nodiscard]] MetaGraphDef read(std::string_view bytes) const {
    MetaGraphDef def;
    bool has_graph = false;
    WireReader reader(bytes, what_);
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: def.tensorflow_version = read_version(reader.get_message()); break;
        case 2:
          def.graph_def = GraphDefReader(what_).read(reader.get_message());
          has_graph = true;
          break;
        case 3: def.saver_def = read_saver(reader.get_message()); break;
        case 4: def.collections.push_back(read_collection(reader.get_message())); break;
        default: reader.skip();
      }
    }
    if (!has_graph) throw DataLossError("{} is damaged or of another format: there is no graph in it", what_);
    return def;
  }

 private:
  [[nodiscard]] static std::string read_version(WireReader reader) {
    std::string version;
    reader.for_each_field(5, [&](WireReader& field) { version = field.get_string(); });
    return version;
  }

  [[nodiscard]] SaverDef read_saver(WireReader reader) const {
    SaverDef saver;
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: saver.filename_tensor_name = read_name(reader, what_); break;
        case 2: saver.save_tensor_name = read_name(reader, what_); break;
        case 3: saver.restore_op_name = read_name(reader, what_); break;
        case 4: saver.max_to_keep = reader.get_int32(); break;
        case 5: saver.sharded = reader.get_bool(); break;
        case 6: saver.keep_checkpoint_every_n_hours = reader.get_float(); break;
        default: reader.skip();
      }
    }
    return saver;
  }

  [[nodiscard]] CollectionDef read_collection(WireReader entry) const {
    CollectionDef collection;
    while (entry.next()) {
      if (entry.tag() == 1) {
        collection.key = read_name(entry, what_);
      } else if (entry.tag() == 2) {
        WireReader value = entry.get_message();
        while (value.next()) {
          switch (value.tag()) {
            case 1:
              value.get_message().for_each_field(
                  1, [&](WireReader& field) { collection.nodes.push_back(read_name(field, what_)); });
              break;
            case 2: read_list(value.get_message(), collection.messages); break;
            default: value.skip();
          }
        }
      } else {
        entry.skip();
      }
    }
    return collection;
  }

  static void read_list(WireReader reader, std::vector<std::string>& into) {
    reader.for_each_field(1, [&](WireReader& field) { into.push_back(field.get_string()); });
  }

  std::string_view what_;
};

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL MetaGraphDef parse_meta_graph(std::string_view bytes, std::string_view what) {
  return detail::MetaGraphDefReader(what).read(bytes);
}

TRAINHOOK_DECL MetaGraphDef parse_meta_graph_text(std::string_view text, std::string_view what) {
  return parse_meta_graph(detail::wire_from_text(text, what, detail::kMetaGraphSchema), what);
}

TRAINHOOK_DECL MetaGraphDef read_meta_graph(FileSystem& file_system, const std::string& path) {
  const std::string content = read_file(file_system, path);
  return detail::is_text_name(path) ? parse_meta_graph_text(content, path) : parse_meta_graph(content, path);
}

}  // namespace trainhook
