// SPDX-License-Identifier: Apache-2.0
/// @file
/// read_meta_graph: reads a MetaGraphDef from bytes or text, written by TensorFlow or by this library.
/// import_meta_graph: adds its nodes and collections to a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

/// The Saver of a MetaGraphDef: the nodes with which TensorFlow saves, and options.
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

/// The parts of a MetaGraphDef that this library uses.
struct MetaGraphDef {
  std::string tensorflow_version{};
  GraphDef graph_def{};
  std::optional<SaverDef> saver_def{};
  std::vector<CollectionDef> collections{};
};

/// Parses a serialized MetaGraphDef. `what` names it in errors.
/// @throws DataLossError if it is damaged, UnimplementedError for dtypes and attributes that this library cannot
/// represent.
[[nodiscard]] TRAINHOOK_DECL MetaGraphDef parse_meta_graph(std::string_view bytes,
                                                           std::string_view what = "a MetaGraphDef");

/// The same from text.
[[nodiscard]] TRAINHOOK_DECL MetaGraphDef parse_meta_graph_text(std::string_view text,
                                                                std::string_view what = "a MetaGraphDef");

/// Reads a MetaGraphDef from a file such as `model.ckpt-100.meta`, as text if its name ends in `txt`. From a
/// SavedModel, `saved_model.pb` or `saved_model.pbtxt`, it reads the graph with the tag `serve`, or else the first one.
[[nodiscard]] TRAINHOOK_DECL MetaGraphDef read_meta_graph(FileSystem& file_system, const std::string& path);

struct ImportMetaGraphOptions {
  std::string import_scope{};        ///< the name scope of the nodes; empty: they keep their names
  std::span<const OpDef> op_defs{};  ///< of op types of one's own; must outlive the graph
};

/// Adds the nodes of `def`, except those of its saver, and its collections of variables, outputs and operations; other
/// collections are skipped with a log line. Then a `Saver` can restore the checkpoint of the `.meta` file. The
/// SavedModels of TensorFlow 2 have no such collections: the variables that they restore become global variables, which
/// have their names from the graph, and in checkpoints those that `variables/variables` has.
/// @throws as `import_graph_def`, and InvalidArgumentError if a collection names a node that the graph does not have.
/// Source: `tf.compat.v1.train.import_meta_graph`.
TRAINHOOK_DECL void import_meta_graph(Graph& graph, const MetaGraphDef& def,
                                      const ImportMetaGraphOptions& options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/import_meta_graph.ipp>
#endif
