// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/graph_def_rewrites.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/op_signature.hpp>
#include <trainhook/model/graph_def/node_def.hpp>

namespace trainhook::detail {

/// The outputs of an op type that has several by name.
struct OutputNames {
  std::string_view type;
  std::string_view names;
};

inline constexpr std::string_view kNormalized =
    "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3";
inline constexpr std::string_view kNormalizedGrad =
    "x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4";
inline constexpr std::array kOutputNames{
    OutputNames{"BroadcastGradientArgs", "r0 r1"},
    OutputNames{"ComputeAccidentalHits", "indices ids weights"},
    OutputNames{"FusedBatchNorm", kNormalized},
    OutputNames{"FusedBatchNormGrad", kNormalizedGrad},
    OutputNames{"FusedBatchNormGradV2", kNormalizedGrad},
    OutputNames{"FusedBatchNormGradV3", "x_backprop scale_backprop offset_backprop reserve_space_4 reserve_space_5"},
    OutputNames{"FusedBatchNormV2", kNormalized},
    OutputNames{"FusedBatchNormV3", kNormalized},
    OutputNames{"ListDiff", "out idx"},
    OutputNames{"LogUniformCandidateSampler", "sampled_candidates true_expected_count sampled_expected_count"},
    OutputNames{"Merge", "output value_index"},
    OutputNames{"SoftmaxCrossEntropyWithLogits", "loss backprop"},
    OutputNames{"SparseSoftmaxCrossEntropyWithLogits", "loss backprop"},
    OutputNames{"Switch", "output_false output_true"},
    OutputNames{"TopK", "values indices"},
    OutputNames{"TopKV2", "values indices"},
    OutputNames{"Unique", "y idx"},
    OutputNames{"UniqueV2", "y idx"},
    OutputNames{"UniqueWithCounts", "y idx count"},
    OutputNames{"UniqueWithCountsV2", "y idx count"},
};

class FunctionInliner {
 public:
  explicit FunctionInliner(GraphDef def) : def_(std::move(def)) {
    for (const FunctionDef& function : def_.functions) {
      functions_.emplace(function.name, &function);
      for (const NodeDef& node : function.nodes) most_added_ += 16 * size_of(node);
    }
    for (const NodeDef& node : def_.nodes) names_.insert(node.name);
  }

  [[nodiscard]] GraphDef inlined() && {
    for (std::size_t i = 0; i < def_.nodes.size(); ++i) {  // also those that calls add
      NodeDef node = def_.nodes[i];
      if (call(node) || choose(node)) def_.nodes[i] = std::move(node);
    }
    def_.functions.clear();
    return std::move(def_);
  }

 private:
  using Names = std::vector<std::string>;

  struct Results {
    Names outputs{};
    Names effects{};  // control inputs
  };

  /// The function that an attribute of the node names, if it can be inlined; else null.
  [[nodiscard]] const FunctionDef* function_of(const NodeDef& node, std::string_view attr) const {
    const auto name = node.functions.find(std::string(attr));
    return name == node.functions.end() ? nullptr : function_called(name->second);
  }
  [[nodiscard]] const FunctionDef* function_called(std::string_view name) const {
    const auto found = functions_.find(name);
    if (found == functions_.end()) return nullptr;
    const bool is_held = std::ranges::find(found->second->outputs, DType::Invalid, &FunctionDef::Arg::dtype) ==
                         found->second->outputs.end();
    return is_held ? found->second : nullptr;
  }

  bool call(NodeDef& node) {
    const bool has_attr = node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall";
    const FunctionDef* const function = has_attr ? function_of(node, "f") : function_called(node.op);
    if (function == nullptr) return false;
    const auto [inputs, controls] = inputs_of(node);
    become(node, *function, add_body(*function, node.name + "/", inputs, controls), controls);
    return true;
  }

  bool choose(NodeDef& node) {
    if (node.op != "If" && node.op != "StatelessIf") return false;
    const FunctionDef* const chosen[] = {function_of(node, "else_branch"), function_of(node, "then_branch")};
    const auto condition = node.attrs.find("Tcond");
    if (chosen[0] == nullptr || chosen[1] == nullptr || condition == node.attrs.end() ||
        condition->second != AttrValue(DType::Bool))
      return false;
    const auto [inputs, controls] = inputs_of(node);
    if (inputs.size() != chosen[0]->inputs.size() + 1 || chosen[0]->outputs.size() != chosen[1]->outputs.size())
      throw InvalidArgumentError("{}: the branches of node '{}' ({}) do not fit it", def_.source, node.name, node.op);
    const std::string switched = add_switch(node, "switch_pred", inputs[0], inputs[0], DType::Bool, controls);
    Names passed;
    for (std::size_t i = 1; i < inputs.size(); ++i)
      passed.push_back(add_switch(node, "switch", inputs[i], inputs[0], chosen[0]->inputs[i - 1].dtype, controls));
    std::array<Results, 2> results;
    NodeDef executed{.name = node.name + "/branch_executed", .op = "Merge", .attrs = merge_attrs(DType::Bool)};
    for (std::size_t branch = 0; branch < 2; ++branch) {
      const char* const name = branch == 1 ? "then" : "else";
      const auto output = [&](const std::string& of_switch) { return fmt::format("{}:{}", of_switch, branch); };
      const std::string pivot = add(identity(fmt::format("{}/pivot_{}", node.name, name), output(switched)));
      Names given;
      for (const std::string& input : passed) given.push_back(output(input));
      results[branch] = add_body(*chosen[branch], fmt::format("{}/{}/", node.name, name), given, {"^" + pivot});
      NodeDef end = identity(fmt::format("{}/{}_executed", node.name, name), pivot);
      end.inputs.insert(end.inputs.end(), results[branch].effects.begin(), results[branch].effects.end());
      executed.inputs.push_back(add(std::move(end)));
    }
    Results merged{.effects = {"^" + add(std::move(executed))}};
    for (std::size_t i = 0; i < results[0].outputs.size(); ++i) {
      merged.outputs.push_back(add({.name = node.name + "/merge",
                                    .op = "Merge",
                                    .inputs = {results[0].outputs[i], results[1].outputs[i]},
                                    .attrs = merge_attrs(chosen[0]->outputs[i].dtype)}));
    }
    become(node, *chosen[0], std::move(merged), controls);
    return true;
  }

  static NodeDef identity(std::string name, std::string input) {
    return {.name = std::move(name), .op = "Identity", .inputs = {std::move(input)}, .attrs = {{"T", DType::Bool}}};
  }
  static Attrs merge_attrs(DType dtype) { return {{"N", std::int64_t{2}}, {"T", dtype}}; }

  /// @param dtype Invalid for a resource
  std::string add_switch(const NodeDef& node, const char* name, const std::string& data, const std::string& condition,
                         DType dtype, const Names& controls) {
    NodeDef added{.name = fmt::format("{}/{}", node.name, name), .op = "Switch", .inputs = {data, condition}};
    added.inputs.insert(added.inputs.end(), controls.begin(), controls.end());
    if (dtype != DType::Invalid) added.attrs.emplace("T", dtype);
    return add(std::move(added));
  }

  /// Makes the node of a call one that gives the results.
  static void become(NodeDef& node, const FunctionDef& function, Results results, const Names& controls) {
    std::vector<DType> dtypes;
    for (const FunctionDef::Arg& output : function.outputs) dtypes.push_back(output.dtype);
    node.op = dtypes.empty() ? "NoOp" : dtypes.size() == 1 ? "Identity" : "IdentityN";
    node.attrs.clear();
    if (dtypes.size() == 1) node.attrs.emplace("T", dtypes[0]);
    if (dtypes.size() > 1) node.attrs.emplace("T", dtypes);
    node.functions.clear();
    node.unheld_attrs.clear();
    node.inputs = std::move(results.outputs);
    node.inputs.insert(node.inputs.end(), results.effects.begin(), results.effects.end());
    node.inputs.insert(node.inputs.end(), controls.begin(), controls.end());
  }

  /// The inputs of a node, and its control inputs.
  static std::pair<Names, Names> inputs_of(const NodeDef& node) {
    const auto end = std::ranges::find_if(node.inputs, [](const std::string& input) { return input.starts_with('^'); });
    return {{node.inputs.begin(), end}, {end, node.inputs.end()}};
  }

  /// Adds the nodes of a function, which read these inputs, and all of which wait for `controls`.
  Results add_body(const FunctionDef& function, std::string prefix, const Names& inputs, const Names& controls) {
    if (inputs.size() != function.inputs.size()) {
      throw InvalidArgumentError("{}: '{}' gives {} inputs to function {}, which takes {}", def_.source, prefix,
                                 inputs.size(), function.name, function.inputs.size());
    }
    const auto is_taken = [&](const NodeDef& node) { return names_.contains(prefix + node.name); };
    while (std::ranges::any_of(function.nodes, is_taken)) prefix.insert(prefix.size() - 1, 1, '_');
    std::unordered_map<std::string_view, std::string> given;
    std::unordered_map<std::string_view, const NodeDef*> nodes;
    for (std::size_t i = 0; i < inputs.size(); ++i) given.emplace(function.inputs[i].name, inputs[i]);
    for (const NodeDef& node : function.nodes) nodes.emplace(node.name, &node);
    const auto outside = [&](std::string_view input) -> std::string {
      const bool is_control = input.starts_with('^');
      if (is_control) input.remove_prefix(1);
      const std::string_view name = input.substr(0, input.find(':'));
      if (const auto found = given.find(name); found != given.end())
        return is_control ? "^" + found->second.substr(0, found->second.find(':')) : found->second;
      const auto found = nodes.find(name);
      if (found == nodes.end())
        throw InvalidArgumentError("{}: function {} has no node '{}'", def_.source, function.name, name);
      if (is_control) return fmt::format("^{}{}", prefix, name);
      return fmt::format("{}{}:{}", prefix, name, place_of_output(*found->second, input.substr(name.size())));
    };
    for (NodeDef node : function.nodes) {
      node.name.insert(0, prefix);
      for (std::string& input : node.inputs) input = outside(input);
      node.inputs.insert(node.inputs.end(), controls.begin(), controls.end());
      if (const auto colocation = node.attrs.find("_class"); colocation != node.attrs.end())
        node.attrs.erase(colocation);
      add(std::move(node));
    }
    Results results;
    for (const FunctionDef::Arg& output : function.outputs) {
      const auto result = function.results.find(output.name);
      if (result == function.results.end())
        throw InvalidArgumentError("{}: function {} has no result '{}'", def_.source, function.name, output.name);
      results.outputs.push_back(outside(result->second));
    }
    for (const std::string& effect : function.effects) results.effects.push_back(outside("^" + effect));
    return results;
  }

  /// The number of the output that `:name:k` is, as the op type of the node names its outputs.
  [[nodiscard]] std::size_t place_of_output(const NodeDef& node, std::string_view output) const {
    output.remove_prefix((std::min)(output.size(), std::size_t{1}));
    const std::string_view name = output.substr(0, output.find(':'));
    std::size_t place = 0;
    const std::string_view number = output.substr((std::min)(output.size(), name.size() + 1));
    std::from_chars(number.data(), number.data() + number.size(), place);
    if (const auto called = functions_.find(node.op); called != functions_.end()) {
      const std::vector<FunctionDef::Arg>& outputs = called->second->outputs;
      return static_cast<std::size_t>(std::ranges::find(outputs, name, &FunctionDef::Arg::name) - outputs.begin());
    }
    const auto names = std::ranges::find(kOutputNames, node.op, &OutputNames::type);
    if (names == kOutputNames.end()) return place;  // the only one, or one of a list
    for (Words words(names->names); words.has_next() && words.next() != name;) ++place;
    return place;
  }

  /// About how many bytes a node takes.
  static std::size_t size_of(const NodeDef& node) {
    std::size_t size = 256 + node.name.size() + sizeof(PartialShape) * node.output_shapes.size();
    const auto add = [&](const std::vector<std::string>& texts) {
      for (const std::string& text : texts) size += sizeof(std::string) + text.size();
    };
    add(node.inputs);
    for (const auto& [name, value] : node.attrs) {
      size += 64 + name.size();
      if (const auto* const text = std::get_if<std::string>(&value)) size += text->size();
      if (const auto* const texts = std::get_if<std::vector<std::string>>(&value)) add(*texts);
      if (const auto* const numbers = std::get_if<std::vector<std::int64_t>>(&value)) size += 8 * numbers->size();
      if (const auto* const numbers = std::get_if<std::vector<float>>(&value)) size += 4 * numbers->size();
      if (const auto* const types = std::get_if<std::vector<DType>>(&value)) size += sizeof(DType) * types->size();
      if (const auto* const shapes = std::get_if<std::vector<PartialShape>>(&value))
        size += sizeof(PartialShape) * shapes->size();
    }
    return size;
  }

  /// Adds a node under its name, or a similar one if the graph has that already. Returns the name.
  std::string add(NodeDef node) {
    added_ += size_of(node);
    if (added_ > most_added_) {
      throw UnimplementedError("{}: calls of its functions take more than {} MiB; do they call themselves?",
                               def_.source, most_added_ >> 20);
    }
    while (!names_.insert(node.name).second) node.name += '_';
    def_.nodes.push_back(std::move(node));
    return def_.nodes.back().name;
  }

  GraphDef def_;
  std::unordered_map<std::string_view, const FunctionDef*> functions_;
  std::unordered_set<std::string> names_;  // of all nodes
  std::size_t added_ = 0;                  // the sizes of the added nodes
  std::size_t most_added_ = 1 << 23;       // a file that calls its functions more often is taken for a trap
};

GraphDef with_inlined_functions(GraphDef def) { return FunctionInliner(std::move(def)).inlined(); }

}  // namespace trainhook::detail
