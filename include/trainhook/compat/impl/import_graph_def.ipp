// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/import_graph_def.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <trainhook/compat/graph_def_rewrites.hpp>
#include <trainhook/compat/ops.hpp>
#include <trainhook/compat/queue_runner.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/model/graph_def/node_def.hpp>

namespace trainhook::detail {

/// The nodes of a GraphDef that cannot run. They are imported so that the rest of the graph can be: their outputs can
/// be fed, and nodes that do not need them run.
class UnknownNodes {
 public:
  /// `extra` defines op types besides those of this library. `def` must outlive this.
  UnknownNodes(const GraphDef& def, std::span<const OpDef> extra) : def_(&def) {
    for (const NodeDef& node : def.nodes) {
      if (find_op(node, extra) != nullptr) continue;
      nodes_.push_back(&node);
      dtypes_[node.name].resize((std::max<std::size_t>)(1, node.output_shapes.size()), DType::Invalid);
    }
    if (nodes_.empty()) return;
    for (const NodeDef& node : def.nodes) add_reader(node, find_op(node, extra));
  }

  /// Returns the definition with which a node can run, or null.
  [[nodiscard]] static const OpDef* find_op(const NodeDef& node, std::span<const OpDef> extra) {
    const bool can_run = node.unheld_attrs.empty() && !node.attrs.contains(kCannotRun);
    return can_run ? find_op_def(node.op, extra) : nullptr;
  }

  /// Returns the outputs of one of these nodes: at least one, and all that the file refers to. A dtype is the one that
  /// consumers need, or Invalid.
  [[nodiscard]] std::vector<OutputSpec> outputs(const NodeDef& node) const {
    const std::vector<DType>& dtypes = dtypes_.at(node.name);
    std::vector<OutputSpec> result;
    for (std::size_t i = 0; i < dtypes.size(); ++i)
      result.push_back({dtypes[i], i < node.output_shapes.size() ? node.output_shapes[i] : PartialShape()});
    return result;
  }

  /// Logs the number of nodes and names the first of them, if there are any.
  void log() const {
    constexpr std::size_t kMostNamed = 5;
    if (nodes_.empty()) return;
    std::vector<std::string_view> types;
    std::string named;
    for (const NodeDef* node : nodes_) {
      if (std::ranges::find(types, node->op) != types.end()) continue;
      types.push_back(node->op);
      if (types.size() <= kMostNamed)
        named += fmt::format("{}{} ('{}')", types.size() > 1 ? ", " : "", node->op, node->name);
    }
    if (types.size() > kMostNamed) named += fmt::format(" and {} more", types.size() - kMostNamed);
    log_warning(
        "{}: {} of {} nodes cannot run, their op types or dtypes are not known here: {}. A run that needs one is "
        "an error",
        def_->source, nodes_.size(), def_->nodes.size(), named);
  }

 private:
  void add_reader(const NodeDef& reader, const OpDef* op) {
    std::optional<std::vector<DType>> wanted;
    for (std::size_t i = 0; i < reader.inputs.size(); ++i) {
      constexpr std::size_t kMostOutputs = 1 << 16;
      const std::optional<InputName> input = parse_input_name(reader.inputs[i]);
      if (!input || input->is_control || input->index >= kMostOutputs) continue;
      const auto found = dtypes_.find(input->node);
      if (found == dtypes_.end()) continue;
      if (op != nullptr && !wanted) {
        try {
          wanted = input_dtypes({.type = reader.op, .name = reader.name, .attrs = reader.attrs}, *op);
        } catch (const Error&) { wanted.emplace(); }  // adding the reader says what is wrong with it
      }
      std::vector<DType>& dtypes = found->second;
      if (input->index >= dtypes.size()) dtypes.resize(input->index + 1, DType::Invalid);
      if (wanted && i < wanted->size() && dtypes[input->index] == DType::Invalid) dtypes[input->index] = (*wanted)[i];
    }
  }

  const GraphDef* def_;
  std::vector<const NodeDef*> nodes_;
  std::unordered_map<std::string_view, std::vector<DType>> dtypes_;  ///< by node, then by output
};

class GraphDefImporter {
 public:
  GraphDefImporter(Graph& graph, const GraphDef& def, const ImportGraphDefOptions& options)
      : graph_(graph), def_(def), options_(options), places_(def.nodes.size()), unknown_(def, options.op_defs) {
    for (std::size_t i = 0; i < def.nodes.size(); ++i) {
      const NodeDef& node = def.nodes[i];
      if (!by_name_.emplace(node.name, i).second) fail(node, "is in it twice");
      places_[i].def = UnknownNodes::find_op(node, options.op_defs);
      if (places_[i].def == nullptr && !is_op_type(node.op)) fail(node, "has no op type");
    }
  }

  std::vector<Operation> import() {
    const std::vector<std::size_t> order = sorted();
    const Graph::Scope top_level = graph_.top_level();
    if (!options_.name.empty())
      prefix_ = options_.name.ends_with('/') ? options_.name : graph_.unique_name(options_.name) + "/";
    for (const std::size_t i : order) add(i);
    unknown_.log();
    std::vector<Operation> operations;
    for (const Place& place : places_) operations.push_back(place.operation);
    return operations;
  }

 private:
  enum class Progress { None, Open, Done };
  struct Place {
    const OpDef* def = nullptr;
    Progress progress = Progress::None;
    Operation operation{};
  };

  [[noreturn]] void fail(const NodeDef& node, std::string_view problem) const {
    throw InvalidArgumentError("{}: node '{}' ({}) {}", def_.source, node.name, node.op, problem);
  }

  /// Whether a name can be that of an op type.
  [[nodiscard]] static bool is_op_type(std::string_view name) noexcept {
    return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '>' || c == '.';
    });
  }

  [[nodiscard]] InputName parse(const NodeDef& node, std::string_view input) const {
    const std::optional<InputName> name = parse_input_name(input);
    if (!name) fail(node, fmt::format("has the input '{}', which is not a name", input));
    return *name;
  }

  [[nodiscard]] const Output* mapped(std::string_view input) const {
    if (input.starts_with('^')) return nullptr;
    const std::string whole =
        input.find(':') == std::string_view::npos ? fmt::format("{}:0", input) : std::string(input);
    for (const auto& [key, output] : options_.input_map) {
      if (key == input || key == whole || key + ":0" == whole) return &output;
    }
    return nullptr;
  }

  /// A node whose inputs are being added, and the next of them.
  struct Open {
    std::size_t place;
    std::size_t next_input;
  };

  [[nodiscard]] std::size_t place_of(const NodeDef& node, std::string_view input) const {
    const auto found = by_name_.find(parse(node, input).node);
    if (found == by_name_.end()) fail(node, fmt::format("has the input '{}', which is not there", input));
    return found->second;
  }

  /// The nodes in the order of the file, but for those that come before their inputs.
  [[nodiscard]] std::vector<std::size_t> sorted() {
    std::vector<std::size_t> order;
    std::vector<Open> open;
    const auto enter = [&](std::size_t place) {
      places_[place].progress = Progress::Open;
      open.push_back({place, 0});
    };
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].progress == Progress::None) enter(i);
      while (!open.empty()) {
        auto& [place, next_input] = open.back();
        const NodeDef& node = def_.nodes[place];
        if (next_input == node.inputs.size()) {
          places_[place].progress = Progress::Done;
          order.push_back(place);
          open.pop_back();
          continue;
        }
        const std::string& input = node.inputs[next_input++];
        if (mapped(input) != nullptr) continue;
        const std::size_t from = place_of(node, input);
        if (places_[from].progress == Progress::Open)
          fail(node, fmt::format("depends on itself, by way of its input '{}'", input));
        if (places_[from].progress == Progress::None) enter(from);
      }
    }
    return order;
  }

  void add(std::size_t i) {
    const NodeDef& node = def_.nodes[i];
    NodeSpec spec{.type = node.op, .name = prefix_ + node.name, .attrs = node.attrs};
    for (const std::string& input : node.inputs) {
      if (const Output* output = mapped(input)) {
        graph_.check_belongs(*output, "in input_map,", input);
        spec.inputs.push_back(*output);
        continue;
      }
      const InputName name = parse(node, input);
      const Operation from = places_[place_of(node, input)].operation;
      if (name.is_control) {
        spec.control_inputs.push_back(from);
      } else if (!spec.control_inputs.empty()) {
        fail(node, "has an input after a control input");
      } else if (name.index >= from.node().outputs().size()) {
        fail(node, fmt::format("has the input '{}', an output that is not there", input));
      } else {
        spec.inputs.push_back(from.output(name.index));
      }
    }
    rename_colocations(spec.attrs);
    for (const PartialShape& shape : node.output_shapes) spec.outputs.push_back({DType::Invalid, shape});
    spec.name += '/';  // the whole name, unchanged
    const OpDef* const def = places_[i].def;
    if (def == nullptr) {
      spec.outputs = unknown_.outputs(node);
      if (!node.unheld_attrs.empty()) spec.attrs.emplace(kCannotRun, node.unheld_attrs[0]);
    }
    try {
      places_[i].operation = def != nullptr ? graph_.add(*def, std::move(spec)) : graph_.add(std::move(spec));
    } catch (const InvalidArgumentError& error) { throw InvalidArgumentError("{}: {}", def_.source, error.what()); }
  }

  /// `loc:@v` names a node of the same file.
  void rename_colocations(Attrs& attrs) const {
    const auto found = attrs.find("_class");
    if (prefix_.empty() || found == attrs.end()) return;
    if (auto* classes = std::get_if<std::vector<std::string>>(&found->second)) {
      for (std::string& entry : *classes) {
        if (entry.starts_with("loc:@")) entry.insert(5, prefix_);
      }
    }
  }

  Graph& graph_;
  const GraphDef& def_;
  const ImportGraphDefOptions& options_;
  std::vector<Place> places_;
  UnknownNodes unknown_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::string prefix_;
};

inline bool is_op(const NodeDef& node, std::string_view type) noexcept {
  return node.op == type || (node.op.starts_with("Ref") && std::string_view(node.op).substr(3) == type);
}
inline bool ends_iteration(const NodeDef& node) noexcept { return is_op(node, "NextIteration"); }

/// Says of the nodes of a while_loop that they cannot run. A Merge loses the value of the iteration before, which would
/// close a circle.
inline GraphDef with_open_loops(GraphDef def) {
  std::unordered_set<std::string_view> ends;
  for (const NodeDef& node : def.nodes) {
    if (ends_iteration(node)) ends.insert(node.name);
  }
  const auto is_value_of_iteration = [&](const std::string& input) {
    const std::optional<InputName> name = parse_input_name(input);
    return name && ends.contains(name->node);
  };
  for (NodeDef& node : def.nodes) {
    const bool begins = is_op(node, "Merge") && std::erase_if(node.inputs, is_value_of_iteration) > 0;
    if (begins || ends_iteration(node) || is_op(node, "Enter") || is_op(node, "Exit") || is_op(node, "LoopCond"))
      node.unheld_attrs.insert(node.unheld_attrs.begin(),
                               "it is part of a while_loop, which this library does not run");
  }
  return def;
}

/// Imports nodes that are in no circle and call no functions.
inline std::vector<Operation> import_plain_nodes(Graph& graph, const GraphDef& def,
                                                 const ImportGraphDefOptions& options) {
  const bool has_resources =
      find_op_def("VarHandleOp", options.op_defs) == nullptr &&
      std::ranges::any_of(def.nodes, [](const NodeDef& node) { return find_resource_op(node.op) != nullptr; });
  if (!has_resources && !has_other_versions(def, options.op_defs))
    return GraphDefImporter(graph, def, options).import();
  const GraphDef replaced = with_served_versions(has_resources ? with_reference_variables(def) : def, options.op_defs);
  std::vector<Operation> operations = GraphDefImporter(graph, replaced, options).import();
  operations.resize(def.nodes.size());
  return operations;
}

std::vector<Operation> import_nodes(Graph& graph, const GraphDef& def, const ImportGraphDefOptions& options) {
  if (!def.functions.empty()) {
    std::vector<Operation> operations = import_nodes(graph, with_inlined_functions(def), options);
    operations.resize(def.nodes.size());
    return operations;
  }
  if (std::ranges::none_of(def.nodes, ends_iteration)) return import_plain_nodes(graph, def, options);
  return import_plain_nodes(graph, with_open_loops(def), options);
}

}  // namespace trainhook::detail

namespace trainhook {

std::vector<Operation> import_graph_def(Graph& graph, const GraphDef& def, const ImportGraphDefOptions& options) {
  std::vector<Operation> operations = detail::import_nodes(graph, def, options);
  detail::note_unfilled_queues(graph, operations, def.source);
  return operations;
}

}  // namespace trainhook
