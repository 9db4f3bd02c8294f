// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of meta_graph_def.hpp.
#pragma once

#include <trainhook/graph_def/meta_graph_def.hpp>

#include <algorithm>
#include <any>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph_def/collection_messages.hpp>
#include <trainhook/graph_def/graph_def_messages.hpp>
#include <trainhook/graph_def/graph_def_writer.hpp>
#include <trainhook/graph_def/node_def.hpp>
#include <trainhook/graph_def/queue_runners.hpp>
#include <trainhook/graph_def/saver_nodes.hpp>
#include <trainhook/proto/message_text.hpp>

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
/// files hold them. Other things are left out.
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

/// Appends the collection to the bytes of a MetaGraphDef, unless nothing in it can be in a file.
TRAINHOOK_DECL void append_collection(std::string& bytes, const std::string& key, const std::vector<std::any>& items) {
  const CollectionItems found = items_in_files(items);
  if (found.nodes.empty() && found.messages.empty()) return;
  const bool has_messages = !found.messages.empty();
  const std::vector<std::string>& values = has_messages ? found.messages : found.nodes;
  MetaGraphMessage part;
  const std::string name = utf8_text(key, "the name of a collection");
  CollectionMessage& list = part.collection_def.emplace_back(CollectionEntryMessage{.key = name}).value;
  (has_messages ? list.bytes_list : list.node_list).emplace().value.assign(values.begin(), values.end());
  append_message(bytes, part);
}

TRAINHOOK_DECL SaverMessage saver_message(const SaverNodes& saver, const MetaGraphOptions& options) {
  constexpr std::uint64_t kV2 = 2;
  return {.filename_tensor_name = saver.filename_tensor_name,
          .save_tensor_name = saver.save_tensor_name,
          .restore_op_name = saver.restore_op_name,
          .max_to_keep = options.max_to_keep,
          .sharded = options.sharded,
          .keep_checkpoint_every_n_hours = options.keep_checkpoint_every_n_hours,
          .version = kV2};
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::string export_meta_graph(const Graph& graph, const MetaGraphOptions& options) {
  using namespace detail;
  const std::vector<Variable> saved = options.variables ? *options.variables : global_variables(graph);
  const bool add_saver = options.add_saver && !saved.empty();
  const SaverNodes saver = add_saver ? saver_nodes(graph, saved) : SaverNodes();
  std::vector<NodeDef> extra = missing_nodes(graph);
  extra.insert(extra.end(), saver.nodes.begin(), saver.nodes.end());
  const std::string graph_def = graph_def_bytes(graph, extra, {.add_shapes = options.add_shapes});
  MetaGraphMessage message{.meta_info_def = MetaInfoMessage{.tensorflow_version = "2.15.0"},
                           .graph_def = Serialized<GraphMessage>(graph_def)};
  if (add_saver) message.saver_def = saver_message(saver, options);
  std::string bytes = message_bytes(message);
  for (const auto& [key, items] : graph.collections()) append_collection(bytes, key, items);
  return bytes;
}

TRAINHOOK_DECL std::string export_meta_graph_text(const Graph& graph, const MetaGraphOptions& options) {
  return detail::text_from_wire(export_meta_graph(graph, options), detail::kTextFields<detail::MetaGraphMessage>);
}

}  // namespace trainhook
