// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/import_meta_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/compat/graph_def_rewrites.hpp>
#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/queue_runner.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/model/graph_def/graph_def_messages.hpp>
#include <trainhook/model/graph_def/node_def.hpp>
#include <trainhook/proto/message_text.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

/// SavedModel.
struct SavedModelMessage {
  std::vector<Serialized<MetaGraphMessage>> meta_graphs{};
};
template <>
inline constexpr auto kFields<SavedModelMessage> = std::tuple(field(2, "meta_graphs", &SavedModelMessage::meta_graphs));

inline bool is_saved_model(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "saved_model.pb" || name == "saved_model.pbtxt";
}

inline MetaGraphDef parse_saved_model(std::string_view bytes, std::string_view what) {
  const auto model = parse_message<SavedModelMessage>(bytes, what);
  if (model.meta_graphs.empty())
    throw DataLossError("{} is damaged or of another format: there is no graph in it", what);
  const auto serves = [&](const Serialized<MetaGraphMessage>& graph) {
    const auto info = parse_message<MetaGraphMessage>(graph, what).meta_info_def;
    return info && std::ranges::find(info->tags, "serve") != info->tags.end();
  };
  const auto found = std::ranges::find_if(model.meta_graphs, serves);
  return parse_meta_graph(found == model.meta_graphs.end() ? model.meta_graphs[0] : *found, what);
}

inline SaverDef saver_def(const SaverMessage& message, std::string_view what) {
  return {.filename_tensor_name = checked_name(message.filename_tensor_name, what),
          .save_tensor_name = checked_name(message.save_tensor_name, what),
          .restore_op_name = checked_name(message.restore_op_name, what),
          .max_to_keep = message.max_to_keep,
          .sharded = message.sharded,
          .keep_checkpoint_every_n_hours = message.keep_checkpoint_every_n_hours.value_or(0.0F)};
}

inline CollectionDef collection_def(const CollectionEntryMessage& entry, std::string_view what) {
  CollectionDef collection{.key = checked_name(entry.key.value_or(""), what)};
  if (entry.value.node_list) {
    for (const std::string_view name : entry.value.node_list->value)
      collection.nodes.push_back(checked_name(name, what));
  }
  if (entry.value.bytes_list)
    collection.messages.assign(entry.value.bytes_list->value.begin(), entry.value.bytes_list->value.end());
  return collection;
}

/// The function with which TensorFlow 2 restores a SavedModel: the only place that has both the variables and the names
/// of their tensors in the checkpoint.
class RestoreFunction {
 public:
  explicit RestoreFunction(const MetaGraphDef& def)
      : nodes_{.functions = def.graph_def.functions, .source = def.graph_def.source} {
    if (!def.saver_def || nodes_.functions.empty()) return;
    std::ranges::copy_if(def.graph_def.nodes, std::back_inserter(nodes_.nodes),
                         [&](const NodeDef& node) { return node.name == def.saver_def->restore_op_name; });
    nodes_ = with_inlined_functions(std::move(nodes_));
    for (const NodeDef& node : nodes_.nodes) by_name_.emplace(node.name, &node);
  }

  /// The names of tensors by the names of variables.
  [[nodiscard]] std::map<std::string, std::string> tensors() const {
    std::map<std::string, std::string> result;
    for (const NodeDef& node : nodes_.nodes) {
      if (node.op != "AssignVariableOp" || node.inputs.size() < 2) continue;
      const std::optional<InputName> variable = parse_input_name(node.inputs[0]);
      const std::optional<std::string> tensor = tensor_of(node.inputs[1]);
      if (variable && tensor) result.emplace(variable->node, *tensor);
    }
    return result;
  }

 private:
  /// The name in the checkpoint of what a RestoreV2 and then an Identity give; nothing if `output` is not that.
  [[nodiscard]] std::optional<std::string> tensor_of(std::string_view output) const {
    const NodeDef* const identity = producer(output);
    if (identity == nullptr || identity->op != "Identity" || identity->inputs.empty()) return std::nullopt;
    const NodeDef* const restore = producer(identity->inputs[0]);
    if (restore == nullptr || restore->op != "RestoreV2" || restore->inputs.size() < 2) return std::nullopt;
    const NodeDef* const names = producer(restore->inputs[1]);
    const auto value = names == nullptr ? Attrs::const_iterator() : names->attrs.find("value");
    if (names == nullptr || value == names->attrs.end()) return std::nullopt;
    const Tensor* const list = std::get_if<Tensor>(&value->second);
    const std::size_t index = parse_input_name(identity->inputs[0])->index;
    if (list == nullptr || list->dtype() != DType::String || index >= list->data<std::string>().size())
      return std::nullopt;
    return list->data<std::string>()[index];
  }

  [[nodiscard]] const NodeDef* producer(std::string_view output) const {
    const std::optional<InputName> name = parse_input_name(output);
    const auto found = name ? by_name_.find(name->node) : by_name_.end();
    return found == by_name_.end() ? nullptr : found->second;
  }

  GraphDef nodes_;
  std::unordered_map<std::string_view, const NodeDef*> by_name_;
};

class MetaGraphImporter {
 public:
  MetaGraphImporter(Graph& graph, const MetaGraphDef& def, const ImportMetaGraphOptions& options)
      : graph_(graph), def_(def), options_(options) {}

  void import() {
    GraphDef nodes{
        .functions = def_.graph_def.functions, .producer = def_.graph_def.producer, .source = def_.graph_def.source};
    std::ranges::copy_if(def_.graph_def.nodes, std::back_inserter(nodes.nodes),
                         [&](const NodeDef& node) { return !is_of_saver(node); });
    if (!options_.import_scope.empty()) {
      prefix_ = options_.import_scope.ends_with('/') ? options_.import_scope
                                                     : graph_.unique_name(options_.import_scope) + "/";
    }
    const std::vector<Operation> imported = import_nodes(graph_, nodes, {.name = prefix_, .op_defs = options_.op_defs});
    for (const CollectionDef& collection : def_.collections) import_collection(collection);
    if (std::ranges::find(def_.collections, graph_keys::kGlobalVariables, &CollectionDef::key) ==
        def_.collections.end())
      import_restored_variables();
    note_unfilled_queues(graph_, imported, def_.graph_def.source);
  }

 private:
  /// Saving and restoring is not the graph's work here: those nodes exist in files only.
  [[nodiscard]] bool is_of_saver(const NodeDef& node) const {
    if (!def_.saver_def) return false;
    const std::string& restore = def_.saver_def->restore_op_name;
    if (node.op == "StatefulPartitionedCall" &&  // in a SavedModel of TensorFlow 2
        (node.name == restore || node.name + ":0" == def_.saver_def->save_tensor_name))
      return true;
    const std::size_t slash = restore.rfind('/');
    return slash != std::string::npos && node.name.starts_with(std::string_view(restore).substr(0, slash + 1));
  }

  [[noreturn]] void fail(const CollectionDef& collection, std::string_view problem) const {
    throw InvalidArgumentError("{}: collection {} {}", def_.graph_def.source, collection.key, problem);
  }

  void import_collection(const CollectionDef& collection) {
    for (const std::string& name : collection.nodes) {
      if (name.find(':') == std::string::npos) {
        graph_.add_to_collection(collection.key, operation(collection, name));
      } else {
        graph_.add_to_collection(collection.key, output(collection, name));
      }
    }
    if (collection.messages.empty()) return;
    if (collection.key == graph_keys::kQueueRunners) {
      import_queue_runners(graph_, collection.messages, prefix_, def_.graph_def.source);
      return;
    }
    if (!holds_variables(collection)) {
      log_info("{}: collection {} is left out, it holds no variables", def_.graph_def.source, collection.key);
      return;
    }
    for (const std::string& message : collection.messages)
      graph_.add_to_collection(collection.key, variable(collection, message));
  }

  void import_restored_variables() {
    const Graph::Scope top_level = graph_.top_level();
    for (const auto& [name, tensor] : RestoreFunction(def_).tensors()) {
      Variable variable{.handle = graph_.find_operation(prefix_ + name)};
      if (!variable.handle.has_value() || variable.handle.type() != "VariableV2") continue;
      const PartialShape& shape = variable.shape();
      if (!shape.is_fully_known() || shape.known().num_elements() == 0) {
        log_warning("{}: variable '{}' of shape {} is not restored; assign it a value", def_.graph_def.source, name,
                    shape);
        continue;
      }
      const std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
      const std::vector<std::int64_t> begin(dims.size());
      variable.read = identity(variable.ref(), fmt::format("{}{}/read", prefix_, name));
      variable.save_slice_info = std::make_shared<const SaveSliceInfo>(
          SaveSliceInfo{.full_name = tensor, .full_shape = dims, .var_offset = begin, .var_shape = dims});
      graph_.add_to_collection(graph_keys::kGlobalVariables, variable);
    }
  }

  /// Whether the messages of a collection are VariableDefs: in TensorFlow's own ones by their name, in others by what
  /// they say.
  [[nodiscard]] bool holds_variables(const CollectionDef& collection) const {
    for (const std::string_view key :
         {graph_keys::kGlobalVariables, graph_keys::kTrainableVariables, graph_keys::kLocalVariables,
          graph_keys::kMovingAverageVariables, graph_keys::kGlobalStep}) {
      if (collection.key == key) return true;
    }
    try {
      const std::string name = read_names(collection.messages.front()).variable_name;
      const Operation found = graph_.find_operation(prefix_ + name.substr(0, name.rfind(':')));
      return found.has_value() && found.type() == "VariableV2";
    } catch (const DataLossError&) { return false; }
  }

  [[nodiscard]] VariableMessage read_names(std::string_view message) const {
    return parse_message<VariableMessage>(message, def_.graph_def.source);
  }

  [[nodiscard]] Operation operation(const CollectionDef& collection, const std::string& name) const {
    const Operation found = graph_.find_operation(prefix_ + name.substr(0, name.rfind(':')));
    if (!found.has_value()) fail(collection, fmt::format("names '{}', which is not there", name));
    return found;
  }
  [[nodiscard]] Output output(const CollectionDef& collection, const std::string& name) const {
    static_cast<void>(operation(collection, name));
    try {
      return graph_.output(prefix_ + name);
    } catch (const Error& error) { fail(collection, error.what()); }
  }

  [[nodiscard]] Variable variable(const CollectionDef& collection, std::string_view message) const {
    VariableMessage names = read_names(message);
    Variable result{.trainable = names.trainable};
    result.handle = operation(collection, names.variable_name);
    if (result.handle.type() != "VariableV2")
      fail(collection, fmt::format("holds '{}', which is not a VariableV2", names.variable_name));
    if (names.save_slice_info_def) {
      SaveSliceInfoMessage& slice = *names.save_slice_info_def;
      const auto info = std::make_shared<const SaveSliceInfo>(SaveSliceInfo{.full_name = prefix_ + slice.full_name,
                                                                            .full_shape = std::move(slice.full_shape),
                                                                            .var_offset = std::move(slice.var_offset),
                                                                            .var_shape = std::move(slice.var_shape)});
      info->validate(names.variable_name, result.shape());
      result.save_slice_info = info;
    }
    result.read = output(collection, names.snapshot_name);
    if (!names.initial_value_name.empty()) result.initial_value = output(collection, names.initial_value_name);
    result.initializer = operation(collection, names.initializer_name);
    return result;
  }

  Graph& graph_;
  const MetaGraphDef& def_;
  const ImportMetaGraphOptions& options_;
  std::string prefix_;
};

}  // namespace trainhook::detail

namespace trainhook {

MetaGraphDef parse_meta_graph(std::string_view bytes, std::string_view what) {
  detail::WireReader reader(bytes, what);
  detail::MetaGraphMessage message;
  detail::read_message(reader, message);
  if (!message.graph_def) throw DataLossError("{} is damaged or of another format: there is no graph in it", what);
  MetaGraphDef def{.graph_def = detail::GraphDefReader(what).read(reader.message_in(*message.graph_def))};
  if (message.meta_info_def) def.tensorflow_version = message.meta_info_def->tensorflow_version;
  if (message.saver_def) def.saver_def = detail::saver_def(*message.saver_def, what);
  for (const detail::CollectionEntryMessage& entry : message.collection_def)
    def.collections.push_back(detail::collection_def(entry, what));
  return def;
}

MetaGraphDef parse_meta_graph_text(std::string_view text, std::string_view what) {
  return parse_meta_graph(detail::wire_from_text(text, what, detail::kTextFields<detail::MetaGraphMessage>), what);
}

MetaGraphDef read_meta_graph(FileSystem& file_system, const std::string& path) {
  const std::string content = read_file(file_system, path);
  if (detail::is_saved_model(path)) {
    return detail::is_text_name(path)
               ? detail::parse_saved_model(
                     detail::wire_from_text(content, path, detail::kTextFields<detail::SavedModelMessage>), path)
               : detail::parse_saved_model(content, path);
  }
  return detail::is_text_name(path) ? parse_meta_graph_text(content, path) : parse_meta_graph(content, path);
}

void import_meta_graph(Graph& graph, const MetaGraphDef& def, const ImportMetaGraphOptions& options) {
  detail::MetaGraphImporter(graph, def, options).import();
}

}  // namespace trainhook
