// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphDef from bytes or text, by whomever they were written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph_def/graph_def_schema.hpp>
#include <trainhook/graph_def/node_def.hpp>
#include <trainhook/graph_def/tensor_proto_reader.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook {

/// The content of a GraphDef: nodes by name, none of them in a graph yet.
struct GraphDef {
  std::vector<NodeDef> nodes{};
  std::int64_t producer = 0;          ///< the version of the op definitions that the writer followed
  std::string source = "a GraphDef";  ///< the file it came from, for messages
};

namespace detail {

class GraphDefReader {
 public:
  /// `what` names the file; it must outlive the reader.
  explicit GraphDefReader(std::string_view what) : what_(what) {}

  [[nodiscard]] GraphDef read(WireReader reader) {
    GraphDef def{.source = std::string(what_)};
    while (reader.next()) {
      if (reader.tag() == 1) {
        def.nodes.push_back(read_node(reader.get_message()));
      } else if (reader.tag() == 4) {
        reader.get_message().for_each_field(1, [&](WireReader& versions) { def.producer = versions.get_int64(); });
      } else {
        reader.skip();
      }
    }
    return def;
  }

 private:
  [[nodiscard]] NodeDef read_node(WireReader reader) {
    NodeDef node;
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: node.name = reader.get_string(); break;
        case 2: node.op = reader.get_string(); break;
        case 3: node.inputs.push_back(reader.get_string()); break;
        case 5: read_attr(reader.get_message(), node); break;
        default: reader.skip();
      }
    }
    if (node.name.empty()) throw DataLossError(what_, " is damaged or of another format: a node has no name");
    const auto shapes = node.attrs.find("_output_shapes");
    if (shapes != node.attrs.end()) {
      if (const auto* list = std::get_if<std::vector<PartialShape>>(&shapes->second)) node.output_shapes = *list;
      node.attrs.erase(shapes);
    }
    return node;
  }

  void read_attr(WireReader entry, NodeDef& node) {
    std::string key;
    std::string_view value;
    while (entry.next()) {
      if (entry.tag() == 1) {
        key = entry.get_string();
      } else if (entry.tag() == 2) {
        value = entry.get_bytes();
      } else {
        entry.skip();
      }
    }
    node.attrs.insert_or_assign(key, read_value(WireReader(value, what_), node, key));
  }

  [[nodiscard]] AttrValue read_value(WireReader reader, const NodeDef& node, const std::string& key) {
    AttrValue value;
    bool is_given = false;
    for (; reader.next(); is_given = true) {
      switch (reader.tag()) {
        case 1: value = read_list(reader.get_message(), node, key); break;
        case 2: value = reader.get_string(); break;
        case 3: value = reader.get_int64(); break;
        case 4: value = reader.get_float(); break;
        case 5: value = reader.get_bool(); break;
        case 6: value = read_dtype(reader.get_uint64(), what_); break;
        case 7: value = read_shape(reader.get_message(), what_); break;
        case 8: value = TensorProtoReader(what_, budget_).read(reader.get_message()); break;
        default: refuse(node, key);
      }
    }
    if (!is_given) refuse(node, key);
    return value;
  }

  [[noreturn]] void refuse(const NodeDef& node, const std::string& key) const {
    throw UnimplementedError(what_, ": attribute ", key, " of node '", node.name, "' (", node.op,
                             ") is of a kind that this library does not hold");
  }

  /// One that is empty counts as one of integers.
  [[nodiscard]] AttrValue read_list(WireReader reader, const NodeDef& node, const std::string& key) {
    AttrValue list = std::vector<std::int64_t>();
    std::uint32_t tag = 0;
    std::uint32_t kind = 0;
    const auto append = [&]<class T>(T value) {
      if (kind != tag && kind != 0) {
        throw DataLossError(what_, " is damaged or of another format: attribute ", key, " of node '", node.name,
                            "' is a list of two kinds");
      }
      if (kind == 0) list = std::vector<T>();
      kind = tag;
      std::get<std::vector<T>>(list).push_back(std::move(value));
    };
    while (reader.next()) {
      tag = reader.tag();  // which reading the field resets
      switch (tag) {
        case 2: append(reader.get_string()); break;
        case 3: reader.for_each<std::int64_t>(append); break;
        case 4: reader.for_each<float>(append); break;
        case 6: reader.for_each<std::uint64_t>([&](std::uint64_t number) { append(read_dtype(number, what_)); }); break;
        case 7: append(read_shape(reader.get_message(), what_)); break;
        default: refuse(node, key);
      }
    }
    return list;
  }

  std::string_view what_;
  FillBudget budget_;
};

/// Whether a file of that name holds text, as those of TensorFlow's that end in `txt` do.
[[nodiscard]] inline bool is_text_name(std::string_view path) noexcept { return path.ends_with("txt"); }

}  // namespace detail

/// The GraphDef in `bytes`. `what` names it in errors.
/// @throws DataLossError where it is damaged, UnimplementedError for dtypes and attributes that this library cannot hold.
[[nodiscard]] inline GraphDef parse_graph_def(std::string_view bytes, std::string_view what = "a GraphDef") {
  return detail::GraphDefReader(what).read(WireReader(bytes, what));
}

/// The same from text.
[[nodiscard]] inline GraphDef parse_graph_def_text(std::string_view text, std::string_view what = "a GraphDef") {
  return parse_graph_def(detail::wire_from_text(text, what, detail::kGraphSchema), what);
}

/// The GraphDef in a file, which is text where its name ends in `txt`.
[[nodiscard]] inline GraphDef read_graph_def(FileSystem& file_system, const std::string& path) {
  const std::string content = read_file(file_system, path);
  return detail::is_text_name(path) ? parse_graph_def_text(content, path) : parse_graph_def(content, path);
}

}  // namespace trainhook
