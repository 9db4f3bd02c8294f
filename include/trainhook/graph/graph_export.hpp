// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphExport: how graphs are written for TensorFlow and TensorBoard.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

class FileSystem;

struct MetaGraphOptions {
  bool add_saver = true;  ///< adds the nodes and the SaverDef that `tf.train.import_meta_graph` needs for a Saver
  std::optional<std::vector<Variable>> variables{};  ///< of that saver; none: the global variables
  std::int32_t max_to_keep = 5;
  bool sharded = false;  ///< that saver writes several data files
  float keep_checkpoint_every_n_hours = 10'000;
  bool add_shapes = false;
};

/// The functions that write a graph. `graph_export()` of model/ returns them; an engine that runs graphs has them, and
/// a LoopSession takes them.
struct GraphExport {
  std::string (*graph_def)(const Graph& graph);  ///< the bytes of a GraphDef with shapes
  void (*write_text)(FileSystem& file_system, const std::string& path, const Graph& graph);  ///< the same, as text
  std::string (*meta_graph)(const Graph& graph, const MetaGraphOptions& options);  ///< the bytes of a MetaGraphDef
};

}  // namespace trainhook
