// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads a MetaGraphDef from bytes or text, written by TensorFlow or by this library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
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

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/meta_graph_def_reader.ipp>
#endif
