// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/graph_def/meta_graph_def.hpp>

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/queue_runner_def.hpp>
#include <trainhook/model/graph_def/graph_def_messages.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/model/graph_def/node_def.hpp>
#include <trainhook/proto/message_text.hpp>

namespace trainhook::detail {

/// A prefix for names under which the graph has no node: `save`, or `save_1`, ...
inline std::string unused_prefix(const Graph& graph, std::string_view wanted) {
  const auto is_used = [&](const std::string& prefix) {
    return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
      return node.name() == prefix || node.name().starts_with(prefix + "/");
    });
  };
  std::string prefix(wanted);
  for (int suffix = 1; is_used(prefix); ++suffix) prefix = fmt::format("{}_{}", wanted, suffix);
  return prefix;
}

inline NodeDef const_node(std::string name, const Tensor& value) {
  return {.name = std::move(name),
          .op = "Const",
          .attrs = {{"dtype", value.dtype()}, {"value", value}},
          .output_shapes = {value.shape()}};
}

inline Tensor string_vector(const std::vector<std::string>& values) {
  return Tensor::copy_of(std::span<const std::string>(values), Shape{static_cast<std::int64_t>(values.size())});
}

inline NodeDef default_placeholder(std::string name, std::string input) {
  return {.name = std::move(name),
          .op = "PlaceholderWithDefault",
          .inputs = {std::move(input)},
          .attrs = {{"dtype", DType::String}, {"shape", PartialShape(Shape{})}},
          .output_shapes = {Shape{}}};
}

SaverNodes saver_nodes(const Graph& graph, std::vector<Variable> variables) {
  std::ranges::sort(variables, {}, [](const Variable& variable) -> const std::string& { return variable.name(); });
  const std::string prefix = unused_prefix(graph, "save");
  const std::string filename = prefix + "/Const";
  std::vector<std::string> names;  // in the checkpoint
  std::vector<std::string> slices;
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  std::vector<std::string> save_inputs{filename, prefix + "/SaveV2/tensor_names", prefix + "/SaveV2/shape_and_slices"};
  for (const Variable& variable : variables) {
    const SaveSliceInfo* const slice = variable.save_slice_info.get();
    names.push_back(slice != nullptr ? slice->full_name : variable.name());
    slices.push_back(slice != nullptr ? slice->spec() : "");
    dtypes.push_back(variable.dtype());
    shapes.push_back(variable.shape());
    save_inputs.push_back(variable.name());
  }

  SaverNodes result{.filename_tensor_name = filename + ":0",
                    .save_tensor_name = prefix + "/control_dependency:0",
                    .restore_op_name = prefix + "/restore_all"};
  std::vector<NodeDef>& nodes = result.nodes;
  nodes.push_back(const_node(prefix + "/filename/input", Tensor("model")));
  nodes.push_back(default_placeholder(prefix + "/filename", prefix + "/filename/input"));
  nodes.push_back(default_placeholder(filename, prefix + "/filename"));
  nodes.push_back(const_node(save_inputs[1], string_vector(names)));
  nodes.push_back(const_node(save_inputs[2], string_vector(slices)));
  nodes.push_back({.name = prefix + "/SaveV2", .op = "SaveV2", .inputs = save_inputs, .attrs = {{"dtypes", dtypes}}});
  nodes.push_back({.name = prefix + "/control_dependency",
                   .op = "Identity",
                   .inputs = {filename, "^" + prefix + "/SaveV2"},
                   .attrs = {{"T", DType::String}},
                   .output_shapes = {Shape{}}});
  const std::string restore = prefix + "/RestoreV2";
  nodes.push_back(const_node(restore + "/tensor_names", string_vector(names)));
  nodes.push_back(const_node(restore + "/shape_and_slices", string_vector(slices)));
  nodes.push_back({.name = restore,
                   .op = "RestoreV2",
                   .inputs = {filename, restore + "/tensor_names", restore + "/shape_and_slices"},
                   .attrs = {{"dtypes", dtypes}},
                   .output_shapes = shapes});
  NodeDef restore_all{.name = result.restore_op_name, .op = "NoOp"};
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string name = i == 0 ? prefix + "/Assign" : fmt::format("{}/Assign_{}", prefix, i);
    nodes.push_back({.name = name,
                     .op = "Assign",
                     .inputs = {variables[i].name(), i == 0 ? restore : fmt::format("{}:{}", restore, i)},
                     .attrs = {{"T", dtypes[i]}, {"use_locking", true}, {"validate_shape", true}},
                     .output_shapes = {shapes[i]}});
    restore_all.inputs.push_back("^" + name);
  }
  nodes.push_back(std::move(restore_all));
  return result;
}

inline std::string variable_message(const Variable& variable) {
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

inline std::string queue_runner_message(const QueueRunnerDef& runner) {
  QueueRunnerMessage names{.queue_name = runner.queue_name};
  for (const Operation& operation : runner.enqueue_ops) names.enqueue_op_name.push_back(operation.name());
  if (runner.close_op.has_value()) names.close_op_name = runner.close_op.name();
  if (runner.cancel_op.has_value()) names.cancel_op_name = runner.cancel_op.name();
  return message_bytes(names);
}

/// Appends the nodes that TensorFlow expects of a variable and that `variable` lacks. Returns whether there are any.
inline bool append_missing_nodes(std::string& bytes, const Graph& graph, const Variable& variable, bool add_shapes) {
  const std::string& name = variable.name();
  const std::size_t before = bytes.size();
  if (!variable.initializer.has_value() && !graph.find_operation(name + "/Assign").has_value()) {
    const std::string zeros = name + "/Initializer/zeros";
    std::vector<std::int64_t> dims(variable.shape().dims().begin(), variable.shape().dims().end());
    std::ranges::replace(dims, kUnknownDim, 0);  // of a variable whose size changes
    append_zeros(bytes, zeros, variable.dtype(), Shape(dims), add_shapes);
    append_node(bytes,
                {.name = name + "/Assign",
                 .op = "Assign",
                 .inputs = {name, zeros},
                 .attrs = {{"T", variable.dtype()}, {"use_locking", true}, {"validate_shape", true}},
                 .output_shapes = {variable.shape()}},
                add_shapes);
  }
  if (!variable.read.has_value()) {
    append_node(bytes,
                {.name = name + "/read",
                 .op = "Identity",
                 .inputs = {name},
                 .attrs = {{"T", variable.dtype()}},
                 .output_shapes = {variable.shape()}},
                add_shapes);
  }
  return bytes.size() > before;
}

/// The same for all variables. One whose memory is the user's lacks an initial value and its assignment.
inline void append_missing_nodes(std::string& bytes, const Graph& graph, bool add_shapes) {
  std::set<std::string> done;
  for (const auto& [key, items] : graph.collections()) {
    for (const std::any& item : items) {
      const Variable* const variable = std::any_cast<Variable>(&item);
      if (variable == nullptr || done.contains(variable->name())) continue;
      if (append_missing_nodes(bytes, graph, *variable, add_shapes)) done.insert(variable->name());
    }
  }
}

/// The missing ones, and about as much in collections.
inline constexpr std::size_t kNodesOfAVariable = 4;

/// The names that stand for the nodes of a collection, and the variables and queue runners of one, in the form in which
/// files hold them. Other things are left out.
struct CollectionItems {
  std::vector<std::string> nodes{};
  std::vector<std::string> messages{};
};

inline CollectionItems items_in_files(const std::vector<std::any>& items) {
  CollectionItems result;
  for (const std::any& item : items) {
    if (const Variable* variable = std::any_cast<Variable>(&item)) {
      result.messages.push_back(variable_message(*variable));
    } else if (const QueueRunnerDef* runner = std::any_cast<QueueRunnerDef>(&item)) {
      if (!runner->enqueue_ops.empty()) result.messages.push_back(queue_runner_message(*runner));
    } else if (const Output* output = std::any_cast<Output>(&item)) {
      result.nodes.push_back(output->name());
    } else if (const Operation* operation = std::any_cast<Operation>(&item)) {
      result.nodes.push_back(operation->name());
    }
  }
  return result;
}

/// Appends the collection to the bytes of a MetaGraphDef, unless nothing in it can be in a file.
inline void append_collection(std::string& bytes, const std::string& key, const std::vector<std::any>& items) {
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

inline SaverMessage saver_message(const SaverNodes& saver, const MetaGraphOptions& options) {
  return {.filename_tensor_name = saver.filename_tensor_name,
          .save_tensor_name = saver.save_tensor_name,
          .restore_op_name = saver.restore_op_name,
          .max_to_keep = options.max_to_keep,
          .sharded = options.sharded,
          .keep_checkpoint_every_n_hours = options.keep_checkpoint_every_n_hours,
          .version = 2};  // a tensor bundle
}

}  // namespace trainhook::detail

namespace trainhook {

std::string export_meta_graph(const Graph& graph, const MetaGraphOptions& options) {
  using namespace detail;
  const std::vector<Variable> saved = options.variables ? *options.variables : global_variables(graph);
  const bool add_saver = options.add_saver && !saved.empty();
  const SaverNodes saver = add_saver ? saver_nodes(graph, saved) : SaverNodes();
  std::string bytes;
  bytes.reserve(expected_bytes(graph) + kTypicalNode * (kNodesOfAVariable * saved.size() + saver.nodes.size()));
  append_message(bytes, MetaGraphMessage{.meta_info_def = MetaInfoMessage{.tensorflow_version = "2.15.0"}});
  append_nested(bytes, field_number(&MetaGraphMessage::graph_def), [&] {
    append_nodes(bytes, graph, {.add_shapes = options.add_shapes});
    append_missing_nodes(bytes, graph, options.add_shapes);
    for (const NodeDef& node : saver.nodes) append_node(bytes, node, options.add_shapes);
    append_versions(bytes);
  });
  if (add_saver) append_message(bytes, MetaGraphMessage{.saver_def = saver_message(saver, options)});
  for (const auto& [key, items] : graph.collections()) append_collection(bytes, key, items);
  return bytes;
}

std::string export_meta_graph_text(const Graph& graph, const MetaGraphOptions& options) {
  return detail::text_from_wire(export_meta_graph(graph, options), detail::kTextFields<detail::MetaGraphMessage>);
}

std::shared_ptr<detail::SideFile> meta_graph_file(const Graph& graph, const MetaGraphOptions& options) {
  return detail::make_shared_object<detail::SideFile>(".meta", export_meta_graph(graph, options));
}

}  // namespace trainhook
