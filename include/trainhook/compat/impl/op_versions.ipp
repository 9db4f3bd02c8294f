// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/graph_def_rewrites.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/model/graph_def/node_def.hpp>

namespace trainhook::detail {

/// The attribute, or `otherwise` if it is not there or of another type.
template <class T>
[[nodiscard]] T attr_or(const NodeDef& node, std::string_view key, T otherwise) {
  const auto found = node.attrs.find(key);
  const T* value = found == node.attrs.end() ? nullptr : std::get_if<T>(&found->second);
  return value == nullptr ? otherwise : *value;
}

inline void erase_attr(NodeDef& node, std::string_view key) {
  if (const auto found = node.attrs.find(key); found != node.attrs.end()) node.attrs.erase(found);
}

/// The end of the inputs that are no control inputs.
inline auto end_of_data(NodeDef& node) {
  return std::ranges::find_if(node.inputs, [](const std::string& input) { return input.starts_with('^'); });
}

/// The elements of an int32 or int64 tensor, else nothing.
inline std::optional<std::vector<std::int64_t>> integers_of(const Tensor& tensor) {
  std::vector<std::int64_t> result;
  const auto append = [&](const auto& values) { result.assign(values.begin(), values.end()); };
  if (tensor.dtype() == DType::Int32) {
    append(tensor.data<std::int32_t>());
  } else if (tensor.dtype() == DType::Int64) {
    append(tensor.data<std::int64_t>());
  } else {
    return std::nullopt;
  }
  return result;
}

/// Nodes that conversions add to a graph, and the constants that they read in it.
class AddedNodes {
 public:
  explicit AddedNodes(const GraphDef& def) : def_(def) {}

  /// Adds a node under its name, or a similar one if the graph has that already. Returns the name.
  std::string add(NodeDef node) {
    while (!by_name().emplace(node.name, nullptr).second) node.name += '_';
    nodes_.push_back(std::move(node));
    return nodes_.back().name;
  }

  /// Gives `node` a last input, a constant.
  void add_input(NodeDef& node, std::string_view name, const Tensor& value) {
    std::string added = add({.name = fmt::format("{}/{}", node.name, name),
                             .op = "Const",
                             .attrs = {{"dtype", value.dtype()}, {"value", value}}});
    node.inputs.insert(end_of_data(node), std::move(added));
  }

  /// The integers of a constant of the file, or nothing if the input is none.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> constant(std::string_view input) {
    const auto found = by_name().find(std::string(input.substr(0, input.find(':'))));
    const NodeDef* const from = found == by_name().end() ? nullptr : found->second;
    if (from == nullptr || from->op != "Const") return std::nullopt;
    return integers_of(attr_or(*from, "value", Tensor()));
  }

  [[nodiscard]] std::vector<NodeDef> take() && { return std::move(nodes_); }

 private:
  /// The nodes of the file, and null for those that were added.
  std::unordered_map<std::string, const NodeDef*>& by_name() {
    if (by_name_.empty()) {
      for (const NodeDef& node : def_.nodes) by_name_.emplace(node.name, &node);
    }
    return by_name_;
  }

  const GraphDef& def_;
  std::vector<NodeDef> nodes_;
  std::unordered_map<std::string, const NodeDef*> by_name_;  // empty until it is needed
};

// Conversions besides the change of the op type.

/// `result = (t - mean) / sqrt(variance + epsilon) * gamma + beta`
inline void normalize_globally(NodeDef& node, AddedNodes& added) {
  if (node.inputs.size() < 5 || attr_or(node, "T", DType::Invalid) != DType::Float) {
    node.op = "BatchNormWithGlobalNormalization";
    return;
  }
  std::string gamma = node.inputs[4];
  if (!attr_or(node, "scale_after_normalization", true))
    gamma =
        added.add({.name = node.name + "/scale", .op = "OnesLike", .inputs = {gamma}, .attrs = {{"T", DType::Float}}});
  const std::array data{node.inputs[0], gamma, node.inputs[3], node.inputs[1], node.inputs[2]};
  std::ranges::copy(data, node.inputs.begin());
  const float epsilon = attr_or(node, "variance_epsilon", 0.0F);
  for (const char* key : {"variance_epsilon", "scale_after_normalization"}) erase_attr(node, key);
  for (const auto& [key, value] :
       Attrs{{"U", DType::Float}, {"epsilon", epsilon}, {"is_training", false}, {"data_format", std::string("NHWC")}})
    node.attrs.insert_or_assign(key, value);
}

/// A product of two dtypes, which nothing here computes, stays as it is.
inline void product_of_one_dtype(NodeDef& node, AddedNodes&) {
  const DType dtype = attr_or(node, "Tout", DType::Invalid);
  if (dtype != attr_or(node, "Ta", DType::Invalid) || dtype != attr_or(node, "Tb", DType::Invalid)) {
    node.op = "BatchMatMulV3";
    return;
  }
  for (const char* key : {"Ta", "Tb", "Tout"}) erase_attr(node, key);
  node.attrs.insert_or_assign("T", dtype);
}

inline void move_axis_to_end(NodeDef& node, AddedNodes&) {
  if (!node.inputs.empty()) std::rotate(node.inputs.begin(), node.inputs.begin() + 1, end_of_data(node));
}

inline void divide_integers(NodeDef& node, AddedNodes&) {
  if (is_integer(attr_or(node, "T", DType::Invalid))) node.op = "TruncateDiv";
}

/// The shapes of a handle were those of strings.
inline void forget_shapes(NodeDef& node, AddedNodes&) { node.output_shapes.clear(); }

inline void set_dtype_of_scale(NodeDef& node, AddedNodes&) { node.attrs.emplace("U", DType::Float); }

inline void add_reserve_space(NodeDef& node, AddedNodes& added) {
  node.attrs.emplace("U", DType::Float);
  node.output_shapes.clear();  // the two outputs that nothing fills had others
  added.add_input(node, "reserve_space_3", Tensor(0.0F));
}

inline void add_axis(NodeDef& node, AddedNodes& added) {
  erase_attr(node, "validate_indices");
  node.attrs.insert_or_assign("Taxis", DType::Int32);
  added.add_input(node, "axis", Tensor(std::int32_t{0}));
}

/// @param dtype the attribute that holds the dtype of `k`, int32 if it is not there
inline void add_count(NodeDef& node, AddedNodes& added, std::string_view dtype) {
  const auto k = attr_or<std::int64_t>(node, "k", 0);
  erase_attr(node, "k");
  const bool is_wide = attr_or(node, dtype, DType::Int32) == DType::Int64;
  added.add_input(node, "k", is_wide ? Tensor(k) : Tensor(static_cast<std::int32_t>(k)));
}
inline void add_count_of_targets(NodeDef& node, AddedNodes& added) { add_count(node, added, "T"); }
inline void add_count_of_values(NodeDef& node, AddedNodes& added) { add_count(node, added, "Tk"); }

/// Sizes and steps of windows, the last two inputs, become attributes; nothing here takes them if they are computed.
inline void set_windows(NodeDef& node, AddedNodes& added) {
  const auto end = end_of_data(node);
  const bool has_both = end - node.inputs.begin() > 2;
  const auto ksize = has_both ? added.constant(end[-2]) : std::nullopt;
  const auto strides = has_both ? added.constant(end[-1]) : std::nullopt;
  if (!ksize || !strides) {
    node.op += "V2";
    return;
  }
  node.inputs.erase(end - 2, end);
  node.attrs.insert_or_assign("ksize", *ksize);
  node.attrs.insert_or_assign("strides", *strides);
}

/// The shape of a scalar meant that it is unknown.
inline void widen_scalar(NodeDef& node, AddedNodes&) {
  if (attr_or(node, "shape", PartialShape()) == PartialShape(Shape{}))
    node.attrs.insert_or_assign("shape", PartialShape());
}

struct OpVersion {
  std::string_view type{};
  std::string_view served{};
  void (*convert)(NodeDef& node, AddedNodes& added) = nullptr;  // null: nothing else differs
};

inline constexpr std::array kOpVersions{
    OpVersion{"BatchMatMul", "BatchMatMulV2"},
    OpVersion{"BatchMatMulV3", "BatchMatMulV2", product_of_one_dtype},
    OpVersion{"BatchNormWithGlobalNormalization", "FusedBatchNormV3", normalize_globally},
    OpVersion{"BiasAddV1", "BiasAdd"},
    OpVersion{"CheckNumericsV2", "CheckNumerics"},
    OpVersion{"Concat", "ConcatV2", move_axis_to_end},
    OpVersion{"Div", "RealDiv", divide_integers},
    OpVersion{"FIFOQueue", "FIFOQueueV2", forget_shapes},
    OpVersion{"FusedBatchNorm", "FusedBatchNormV3", set_dtype_of_scale},
    OpVersion{"FusedBatchNormGrad", "FusedBatchNormGradV3", add_reserve_space},
    OpVersion{"FusedBatchNormGradV2", "FusedBatchNormGradV3", add_reserve_space},
    OpVersion{"FusedBatchNormV2", "FusedBatchNormV3"},
    OpVersion{"Gather", "GatherV2", add_axis},
    OpVersion{"InTopK", "InTopKV2", add_count_of_targets},
    OpVersion{"Inv", "Reciprocal"},
    OpVersion{"InvGrad", "ReciprocalGrad"},
    OpVersion{"Iterator", "IteratorV2"},
    OpVersion{"MaxPoolGradV2", "MaxPoolGrad", set_windows},
    OpVersion{"MaxPoolV2", "MaxPool", set_windows},
    OpVersion{"Mod", "TruncateMod"},
    OpVersion{"PlaceholderV2", "Placeholder"},
    OpVersion{"QueueClose", "QueueCloseV2"},
    OpVersion{"QueueDequeue", "QueueDequeueV2"},
    OpVersion{"QueueDequeueMany", "QueueDequeueManyV2"},
    OpVersion{"QueueEnqueue", "QueueEnqueueV2"},
    OpVersion{"QueueEnqueueMany", "QueueEnqueueManyV2"},
    OpVersion{"QueueSize", "QueueSizeV2"},
    OpVersion{"RefMerge", "Merge"},  // gives a value, which is all that a branch is read for
    OpVersion{"TopK", "TopKV2", add_count_of_values},
    OpVersion{"Variable", "VariableV2", widen_scalar},
};

/// The version that is to be replaced, or null.
inline const OpVersion* find_version(const NodeDef& node, std::span<const OpDef> extra) noexcept {
  const auto found = std::ranges::find(kOpVersions, node.op, &OpVersion::type);
  const bool stays = found == kOpVersions.end() || std::ranges::find(extra, node.op, &OpDef::type) != extra.end();
  return stays ? nullptr : &*found;
}

std::string_view served_version(std::string_view type) noexcept {
  const auto found = std::ranges::find(kOpVersions, type, &OpVersion::type);
  return found == kOpVersions.end() ? type : found->served;
}

bool has_other_versions(const GraphDef& def, std::span<const OpDef> extra) {
  return std::ranges::any_of(def.nodes, [&](const NodeDef& node) { return find_version(node, extra) != nullptr; });
}

GraphDef with_served_versions(GraphDef def, std::span<const OpDef> extra) {
  AddedNodes added(def);
  for (NodeDef& node : def.nodes) {
    const OpVersion* const version = find_version(node, extra);
    if (version == nullptr) continue;
    node.op = version->served;
    if (version->convert != nullptr) version->convert(node, added);
  }
  std::vector<NodeDef> nodes = std::move(added).take();
  def.nodes.insert(def.nodes.end(), std::make_move_iterator(nodes.begin()), std::make_move_iterator(nodes.end()));
  return def;
}

}  // namespace trainhook::detail
