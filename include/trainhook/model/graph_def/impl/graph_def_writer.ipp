// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/graph_def/graph_def_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/graph_def/graph_def_messages.hpp>
#include <trainhook/model/graph_def/node_def.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message_text.hpp>
#include <trainhook/proto/text_proto.hpp>

namespace trainhook::detail {

void append_nodes(std::string& bytes, const Graph& graph, const GraphDefOptions& options) {
  for (const Node& node : graph.nodes()) append_node(bytes, node_def_of(node), options.add_shapes);
}

void append_versions(std::string& bytes) {
  append_element(bytes, field_number(&GraphMessage::versions), VersionMessage{.producer = kGraphDefProducer});
}

void for_each_piece(const Graph& graph, const GraphDefOptions& options,
                    FunctionRef<void(std::string_view piece)> take) {
  constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
  std::string piece;
  for (const Node& node : graph.nodes()) {
    append_node(piece, node_def_of(node), options.add_shapes);
    if (piece.size() < kPieceBytes) continue;
    take(piece);
    if (piece.capacity() > 4 * kPieceBytes) std::string().swap(piece);  // of a large constant
    piece.clear();
  }
  append_versions(piece);
  take(piece);
}

inline void print_graph(TextProtoPrinter& printer, const Graph& graph, const GraphDefOptions& options) {
  for_each_piece(graph, options,
                 [&](std::string_view piece) { print_from_wire(printer, piece, kTextFields<GraphMessage>); });
}

void write_graph_file(FileSystem& file_system, const std::string& path, const Graph& graph, bool as_text,
                      const GraphDefOptions& options) {
  const auto append = [&](WritableFile& file) {
    const auto append_piece = [&](std::string_view piece) { file.append(piece); };
    if (!as_text) return for_each_piece(graph, options, append_piece);
    TextProtoPrinter printer(append_piece);
    print_graph(printer, graph, options);
    printer.finish();
  };
  write_file_atomically(file_system, path, append, &is_graph_def);
}

bool is_graph_def(std::string_view beginning) {
  constexpr std::string_view kFirstField = "\n";  // its tag: a graph's first node, and in that its name
  const auto is_last = [](char byte) { return (static_cast<unsigned char>(byte) & 0x80U) == 0; };
  constexpr std::size_t kMostLength = 5;  // of the node's length, a varint
  const std::string_view rest = beginning.substr((std::min)(beginning.size(), std::size_t{1}));
  const auto length = static_cast<std::size_t>(std::ranges::find_if(rest, is_last) - rest.begin()) + 1;
  const bool is_cut_off = !rest.empty() && rest != "\n" && rest.size() <= length && rest.size() <= kMostLength;
  return (beginning.starts_with(kFirstField) &&
          (is_cut_off || rest.substr((std::min)(length, rest.size())).starts_with(kFirstField))) ||
         looks_like_text_of<GraphMessage>(beginning);
}

}  // namespace trainhook::detail

namespace trainhook {

std::string as_graph_def(const Graph& graph, const GraphDefOptions& options) {
  std::string bytes;
  bytes.reserve(detail::expected_bytes(graph));
  detail::append_nodes(bytes, graph, options);
  detail::append_versions(bytes);
  return bytes;
}

std::string as_graph_def_text(const Graph& graph, const GraphDefOptions& options) {
  detail::TextProtoPrinter printer;
  detail::print_graph(printer, graph, options);
  return std::move(printer).text();
}

std::string write_graph(FileSystem& file_system, const Graph& graph, std::string_view directory, std::string_view name,
                        bool as_text) {
  std::string path = join_path(directory, name);
  detail::write_graph_file(file_system, path, graph, as_text, {});
  return path;
}

}  // namespace trainhook
