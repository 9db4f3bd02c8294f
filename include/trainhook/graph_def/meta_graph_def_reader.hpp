// SPDX-License-Identifier: Apache-2.0
/// @file
/// MetaGraphDef from bytes or text, by whomever it was written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph_def/graph_def_reader.hpp>

namespace trainhook {

/// How the writer of a MetaGraphDef saved: the nodes by which TensorFlow does, and its Saver's options.
struct SaverDef {
  std::string filename_tensor_name{};
  std::string save_tensor_name{};
  std::string restore_op_name{};
  std::int32_t max_to_keep = 0;
  bool sharded = false;
  float keep_checkpoint_every_n_hours = 0;
};

/// A collection: names of nodes and outputs, or serialized messages.
struct CollectionDef {
  std::string key{};
  std::vector<std::string> nodes{};
  std::vector<std::string> messages{};
};

/// The content of a MetaGraphDef, as far as it is used.
struct MetaGraphDef {
  std::string tensorflow_version{};
  GraphDef graph_def{};
  std::optional<SaverDef> saver_def{};
  std::vector<CollectionDef> collections{};
};

namespace detail {

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
    if (!has_graph) throw DataLossError(what_, " is damaged or of another format: there is no graph in it");
    return def;
  }

 private:
  [[nodiscard]] static std::string read_version(WireReader reader) {
    std::string version;
    reader.for_each_field(5, [&](WireReader& field) { version = field.get_string(); });
    return version;
  }

  [[nodiscard]] static SaverDef read_saver(WireReader reader) {
    SaverDef saver;
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: saver.filename_tensor_name = reader.get_string(); break;
        case 2: saver.save_tensor_name = reader.get_string(); break;
        case 3: saver.restore_op_name = reader.get_string(); break;
        case 4: saver.max_to_keep = reader.get_int32(); break;
        case 5: saver.sharded = reader.get_bool(); break;
        case 6: saver.keep_checkpoint_every_n_hours = reader.get_float(); break;
        default: reader.skip();
      }
    }
    return saver;
  }

  [[nodiscard]] static CollectionDef read_collection(WireReader entry) {
    CollectionDef collection;
    while (entry.next()) {
      if (entry.tag() == 1) {
        collection.key = entry.get_string();
      } else if (entry.tag() == 2) {
        WireReader value = entry.get_message();
        while (value.next()) {
          switch (value.tag()) {
            case 1: read_list(value.get_message(), collection.nodes); break;
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

}  // namespace detail

/// The MetaGraphDef in `bytes`. `what` names it in errors.
/// @throws DataLossError where it is damaged, UnimplementedError for dtypes and attributes that this library cannot hold.
[[nodiscard]] inline MetaGraphDef parse_meta_graph(std::string_view bytes, std::string_view what = "a MetaGraphDef") {
  return detail::MetaGraphDefReader(what).read(bytes);
}

/// The same from text.
[[nodiscard]] inline MetaGraphDef parse_meta_graph_text(std::string_view text, std::string_view what = "a MetaGraphDef") {
  return parse_meta_graph(detail::wire_from_text(text, what, detail::kMetaGraphSchema), what);
}

/// The MetaGraphDef in a file such as `model.ckpt-100.meta`, which is text where its name ends in `txt`.
[[nodiscard]] inline MetaGraphDef read_meta_graph(FileSystem& file_system, const std::string& path) {
  const std::string content = read_file(file_system, path);
  return detail::is_text_name(path) ? parse_meta_graph_text(content, path) : parse_meta_graph(content, path);
}

}  // namespace trainhook
