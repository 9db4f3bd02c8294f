// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphDef from bytes or text, by whomever they were written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph_def/node_def.hpp>
#include <trainhook/graph_def/tensor_proto_reader.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/proto/wire.hpp>

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

  [[nodiscard]] TRAINHOOK_DECL GraphDef read(WireReader reader);

 private:
  [[nodiscard]] TRAINHOOK_DECL NodeDef read_node(WireReader reader);
  TRAINHOOK_DECL void read_attr(WireReader entry, NodeDef& node);
  [[nodiscard]] TRAINHOOK_DECL AttrValue read_value(WireReader reader, const NodeDef& node, const std::string& key);
  [[noreturn]] TRAINHOOK_DECL void refuse() const;

  /// One that is empty counts as one of integers.
  [[nodiscard]] TRAINHOOK_DECL AttrValue read_list(WireReader reader, const NodeDef& node, const std::string& key);

  std::string_view what_;
  FillBudget budget_;
};

/// Whether a file of that name holds text, as those of TensorFlow's that end in `txt` do.
[[nodiscard]] TRAINHOOK_DECL bool is_text_name(std::string_view path) noexcept;

}  // namespace detail

/// The GraphDef in `bytes`. `what` names it in errors.
/// @throws DataLossError if it is damaged. Attributes that this library cannot hold are in `NodeDef::unheld_attrs`.
[[nodiscard]] TRAINHOOK_DECL GraphDef parse_graph_def(std::string_view bytes, std::string_view what = "a GraphDef");

/// The same from text.
[[nodiscard]] TRAINHOOK_DECL GraphDef parse_graph_def_text(std::string_view text, std::string_view what = "a GraphDef");

/// The GraphDef in a file, which is text if its name ends in `txt`.
[[nodiscard]] TRAINHOOK_DECL GraphDef read_graph_def(FileSystem& file_system, const std::string& path);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/graph_def_reader.ipp>
#endif
