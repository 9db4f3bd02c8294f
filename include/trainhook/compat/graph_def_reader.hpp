// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads a GraphDef from bytes or text, written by TensorFlow or by this library.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/graph_def/graph_def_messages.hpp>
#include <trainhook/model/graph_def/node_def.hpp>
#include <trainhook/model/graph_def/tensor_proto.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook {

/// A function that nodes of a GraphDef call. Inputs of its nodes are inputs of the function, `name`, or outputs of its
/// nodes by the name that the op type gives them, `node:name:k`.
struct FunctionDef {
  struct Arg {
    std::string name{};
    DType dtype = DType::Invalid;  ///< Invalid for resources
  };

  std::string name{};
  std::vector<Arg> inputs{};
  std::vector<Arg> outputs{};
  std::vector<NodeDef> nodes{};
  std::map<std::string, std::string> results{};  ///< by the name of an output: what an input of a node would be
  std::vector<std::string> effects{};            ///< nodes that each call runs
};

/// The contents of a GraphDef: descriptions of nodes that are not in a graph yet.
struct GraphDef {
  std::vector<NodeDef> nodes{};
  std::vector<FunctionDef> functions{};
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
  [[nodiscard]] TRAINHOOK_DECL FunctionDef read_function(const FunctionDefMessage& message);
  [[nodiscard]] TRAINHOOK_DECL std::vector<FunctionDef::Arg> read_args(const std::vector<ArgMessage>& messages) const;
  [[nodiscard]] TRAINHOOK_DECL NodeDef read_node(const NodeMessage& message);
  TRAINHOOK_DECL void read_attr(const AttrMessage& message, NodeDef& node);
  [[nodiscard]] TRAINHOOK_DECL AttrValue read_value(WireReader reader, NodeDef& node, const std::string& key);
  [[noreturn]] TRAINHOOK_DECL void refuse() const;

  /// An empty list counts as a list of integers.
  [[nodiscard]] TRAINHOOK_DECL AttrValue read_list(WireReader reader, const NodeDef& node, const std::string& key);

  std::string_view what_;
  FillBudget budget_;
};

/// Whether a file of that name contains text: TensorFlow's text files end in `txt`.
[[nodiscard]] TRAINHOOK_DECL bool is_text_name(std::string_view path) noexcept;

}  // namespace detail

/// Parses a serialized GraphDef. `what` names it in errors.
/// @throws DataLossError if it is damaged, UnimplementedError if it asks for a reader of a later version of TensorFlow.
/// Attributes that this library cannot represent go to `NodeDef::unheld_attrs`.
[[nodiscard]] TRAINHOOK_DECL GraphDef parse_graph_def(std::string_view bytes, std::string_view what = "a GraphDef");

/// The same from text.
[[nodiscard]] TRAINHOOK_DECL GraphDef parse_graph_def_text(std::string_view text, std::string_view what = "a GraphDef");

/// Reads a GraphDef from a file, as text if its name ends in `txt`.
[[nodiscard]] TRAINHOOK_DECL GraphDef read_graph_def(FileSystem& file_system, const std::string& path);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/graph_def_reader.ipp>
#endif
