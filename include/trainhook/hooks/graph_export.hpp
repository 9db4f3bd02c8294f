// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a saver hook tells about the graph: `graph.pbtxt`, events for TensorBoard, and the MetaGraphDef that goes with
/// each checkpoint.
#pragma once

#include <string>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// The MetaGraphDef of a graph whose variables `saver` saves, serialized.
[[nodiscard]] TRAINHOOK_DECL std::string export_meta_graph_for(const Graph& graph, const SaverOptions& saver);

/// Replaces `<directory>/graph.pbtxt`, at once or not at all.
TRAINHOOK_DECL void write_graph_text(FileSystem& file_system, const Graph& graph, const std::string& directory);

/// The graph for TensorBoard, which shows the first of the two events.
TRAINHOOK_DECL void add_graph_events(FileWriter& writer, const Graph& graph, const std::string& meta_graph);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/graph_export.ipp>
#endif
