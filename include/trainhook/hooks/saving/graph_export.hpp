// SPDX-License-Identifier: Apache-2.0
/// @file
/// The files about the graph that a saver hook writes: `graph.pbtxt`, events for TensorBoard, and the MetaGraphDef of
/// each checkpoint.
#pragma once

#include <string>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// The serialized MetaGraphDef of a graph whose variables `saver` saves.
[[nodiscard]] TRAINHOOK_DECL std::string export_meta_graph_for(const Graph& graph, const SaverOptions& saver);

/// Replaces `<directory>/graph.pbtxt` atomically.
TRAINHOOK_DECL void write_graph_text(FileSystem& file_system, const Graph& graph, const std::string& directory);

/// Adds the GraphDef, which TensorBoard shows, and the MetaGraphDef as events.
TRAINHOOK_DECL void add_graph_events(FileWriter& writer, const Graph& graph, const std::string& meta_graph);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/saving/impl/graph_export.ipp>
#endif
