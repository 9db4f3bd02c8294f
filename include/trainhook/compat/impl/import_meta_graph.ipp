// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of import_meta_graph.hpp.
#pragma once

#include <trainhook/compat/import_meta_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/queue_runners.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/graph_def/collection_messages.hpp>
#include <trainhook/graph_def/node_def.hpp>

namespace trainhook::detail {

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

void import_meta_graph(Graph& graph, const MetaGraphDef& def, const ImportMetaGraphOptions& options) {
  detail::MetaGraphImporter(graph, def, options).import();
}

}  // namespace trainhook
