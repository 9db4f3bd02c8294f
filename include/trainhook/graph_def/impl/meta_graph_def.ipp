// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of meta_graph_def.hpp.
#pragma once

#include <trainhook/graph_def/meta_graph_def.hpp>

#include <any>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph_def/collection_messages.hpp>
#include <trainhook/graph_def/graph_def_schema.hpp>
#include <trainhook/graph_def/graph_def_writer.hpp>
#include <trainhook/graph_def/node_def.hpp>
#include <trainhook/graph_def/queue_runners.hpp>
#include <trainhook/graph_def/saver_nodes.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL std::string variable_message(const Variable& variable) {
  const std::string& name = variable.name();
  VariableMessage message{
      .variable_name = variable.ref().name(),
      .initializer_name = variable.initializer.has_value() ? variable.initializer.name() : name + "/Assign",
      .snapshot_name = variable.read.has_value() ? variable.read.name() : name + "/read:0",
      .initial_value_name =
          variable.initial_value.has_value() ? variable.initial_value.name() : name + "/Initializer/zeros:0",
      .trainable = variable.trainable};
  if (const SaveSliceInfo* slice = variable.save_slice_info.get())
    message.save_slice_info_def = {slice->full_name, slice->full_shape, slice->var_offset, slice->var_shape};
  return message_bytes(message);
}

/// The nodes that TensorFlow expects of a variable and that one lacks whose memory is the user's: an initial value and
/// its assignment.
TRAINHOOK_DECL std::vector<NodeDef> missing_nodes(const Graph& graph) {
  std::vector<NodeDef> nodes;
  for (const auto& [key, items] : graph.collections()) {
    for (const Variable& variable : graph.collection<Variable>(key)) {
      const std::string& name = variable.name();
      const bool is_done = std::ranges::any_of(
          nodes, [&](const NodeDef& node) { return !node.inputs.empty() && node.inputs[0] == name; });
      if (is_done) continue;
      if (!variable.initializer.has_value() && !graph.find_operation(name + "/Assign").has_value()) {
        nodes.push_back(const_node(name + "/Initializer/zeros", Tensor(variable.dtype(), variable.shape().known())));
        nodes.push_back({.name = name + "/Assign",
                         .op = "Assign",
                         .inputs = {name, nodes.back().name},
                         .attrs = {{"T", variable.dtype()}, {"use_locking", true}, {"validate_shape", true}},
                         .output_shapes = {variable.shape()}});
      }
      if (!variable.read.has_value()) {
        nodes.push_back({.name = name + "/read",
                         .op = "Identity",
                         .inputs = {name},
                         .attrs = {{"T", variable.dtype()}},
                         .output_shapes = {variable.shape()}});
      }
    }
  }
  return nodes;
}

/// The names that stand for the nodes of a collection, and the variables and queue runners of one, in the form in which
/// files hold them.
struct CollectionItems {
  std::vector<std::string> nodes{};
  std::vector<std::string> messages{};
};

TRAINHOOK_DECL CollectionItems items_in_files(const std::vector<std::any>& items) {
  CollectionItems result;
  for (const std::any& item : items) {
    if (const Variable* variable = std::any_cast<Variable>(&item)) {
      result.messages.push_back(variable_message(*variable));
    } else if (const QueueRunnerDef* runner = std::any_cast<QueueRunnerDef>(&item)) {
      if (!runner->enqueue_ops.empty()) result.messages.push_back(export_queue_runner(*runner));
    } else if (const Output* output = std::any_cast<Output>(&item)) {
      result.nodes.push_back(output->name());
    } else if (const Operation* operation = std::any_cast<Operation>(&item)) {
      result.nodes.push_back(operation->name());
    }
  }
  return result;
}

/// An entry of map<string, CollectionDef>: node_list=1 {value=1} or bytes_list=2 {value=1}. Collections of other things
/// are left out.
TRAINHOOK_DECL void write_collection(WireWriter& writer, const std::string& key, const std::vector<std::any>& items) {
  const CollectionItems found = items_in_files(items);
  if (found.nodes.empty() && found.messages.empty()) return;
  add_wire_message(writer, 4, [&](WireWriter& entry) {
    entry.add_bytes(1, key);
    add_wire_message(entry, 2, [&](WireWriter& collection) {
      const bool has_messages = !found.messages.empty();
      add_wire_message(collection, has_messages ? 2 : 1, [&](WireWriter& list) {
        for (const std::string& value : has_messages ? found.messages : found.nodes) list.add_bytes(1, value);
      });
    });
  });
}

/// SaverDef: filename_tensor_name=1, save_tensor_name=2, restore_op_name=3, max_to_keep=4, sharded=5,
/// keep_checkpoint_every_n_hours=6, version=7.
TRAINHOOK_DECL void write_saver_def(WireWriter& writer, const SaverNodes& saver, const MetaGraphOptions& options) {
  constexpr std::int32_t kV2 = 2;
  writer.add_bytes(1, saver.filename_tensor_name);
  writer.add_bytes(2, saver.save_tensor_name);
  writer.add_bytes(3, saver.restore_op_name);
  if (options.max_to_keep != 0) writer.add_int64(4, options.max_to_keep);
  if (options.sharded) writer.add_bool(5, true);
  writer.add_float(6, options.keep_checkpoint_every_n_hours);
  writer.add_enum(7, kV2);
}

/// MetaGraphDef: meta_info_def=1 {tensorflow_version=5}, graph_def=2, saver_def=3, collection_def=4.
TRAINHOOK_DECL void write_meta_graph(WireWriter& writer, const Graph& graph, const MetaGraphOptions& options) {
  const std::vector<Variable> saved = options.variables ? *options.variables : global_variables(graph);
  const bool add_saver = options.add_saver && !saved.empty();
  const SaverNodes saver = add_saver ? saver_nodes(graph, saved) : SaverNodes();
  std::vector<NodeDef> extra = missing_nodes(graph);
  extra.insert(extra.end(), saver.nodes.begin(), saver.nodes.end());
  add_wire_message(writer, 1, [](WireWriter& info) { info.add_string(5, "2.15.0"); });
  add_wire_message(writer, 2,
                   [&](WireWriter& def) { write_graph_def(def, graph, extra, {.add_shapes = options.add_shapes}); });
  if (add_saver) add_wire_message(writer, 3, [&](WireWriter& def) { write_saver_def(def, saver, options); });
  for (const auto& [key, items] : graph.collections()) write_collection(writer, key, items);
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::string export_meta_graph(const Graph& graph, const MetaGraphOptions& options) {
  std::string bytes;
  detail::WireWriter writer(bytes);
  detail::write_meta_graph(writer, graph, options);
  return bytes;
}

TRAINHOOK_DECL std::string export_meta_graph_text(const Graph& graph, const MetaGraphOptions& options) {
  return detail::text_from_wire(export_meta_graph(graph, options), detail::kMetaGraphSchema);
}

}  // namespace trainhook
