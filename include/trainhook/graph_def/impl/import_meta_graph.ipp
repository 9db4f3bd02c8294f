// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of import_meta_graph.hpp.
#pragma once

#include <trainhook/graph_def/import_meta_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph_keys.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/graph_def/graph_def_reader.hpp>
#include <trainhook/graph_def/import_graph_def.hpp>
#include <trainhook/graph_def/node_def.hpp>
#include <trainhook/graph_def/queue_runners.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

class MetaGraphImporter {
 public:
  MetaGraphImporter(Graph& graph, const MetaGraphDef& def, const ImportMetaGraphOptions& options)
      : graph_(graph), def_(def), options_(options) {}

  void import() {
    GraphDef nodes{.producer = def_.graph_def.producer, .source = def_.graph_def.source};
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
      import_queue_runners(graph_, collection.messages, prefix_, def_.graph_def.source, options_.op_defs);
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
      const std::string name = read_names(collection.messages.front()).handle;
      const Operation found = graph_.find_operation(prefix_ + name.substr(0, name.rfind(':')));
      return found.has_value() && found.type() == "VariableV2";
    } catch (const DataLossError&) { return false; }
  }

  struct VariableNames {
    std::string handle{};
    std::string initializer{};
    std::string snapshot{};
    std::string initial_value{};
    bool trainable = false;
    std::shared_ptr<const SaveSliceInfo> slice{};
  };

  [[nodiscard]] VariableNames read_names(std::string_view message) const {
    VariableNames names;
    WireReader reader(message, def_.graph_def.source);
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: names.handle = reader.get_string(); break;
        case 2: names.initializer = reader.get_string(); break;
        case 3: names.snapshot = reader.get_string(); break;
        case 4: names.slice = read_slice(reader.get_message()); break;
        case 6: names.initial_value = reader.get_string(); break;
        case 7: names.trainable = reader.get_bool(); break;
        default: reader.skip();
      }
    }
    return names;
  }

  [[nodiscard]] std::shared_ptr<const SaveSliceInfo> read_slice(WireReader reader) const {
    SaveSliceInfo info;
    const auto add_to = [&](std::vector<std::int64_t>& into) {
      reader.for_each<std::int64_t>([&](std::int64_t value) { into.push_back(value); });
    };
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: info.full_name = prefix_ + reader.get_string(); break;
        case 2: add_to(info.full_shape); break;
        case 3: add_to(info.var_offset); break;
        case 4: add_to(info.var_shape); break;
        default: reader.skip();
      }
    }
    return std::make_shared<const SaveSliceInfo>(std::move(info));
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
    const VariableNames names = read_names(message);
    Variable result{.trainable = names.trainable};
    result.handle = operation(collection, names.handle);
    if (result.handle.type() != "VariableV2")
      fail(collection, fmt::format("holds '{}', which is no VariableV2", names.handle));
    if (names.slice != nullptr) {
      names.slice->check(names.handle, result.shape());
      result.save_slice_info = names.slice;
    }
    result.read = output(collection, names.snapshot);
    if (!names.initial_value.empty()) result.initial_value = output(collection, names.initial_value);
    result.initializer = operation(collection, names.initializer);
    return result;
  }

  Graph& graph_;
  const MetaGraphDef& def_;
  const ImportMetaGraphOptions& options_;
  std::string prefix_;
};

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL void import_meta_graph(Graph& graph, const MetaGraphDef& def, const ImportMetaGraphOptions& options) {
  detail::MetaGraphImporter(graph, def, options).import();
}

}  // namespace trainhook
