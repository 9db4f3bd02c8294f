// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of op_versions.hpp.
#pragma once

#include <trainhook/compat/op_versions.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <variant>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook::detail {

struct OpVersion {
  std::string_view type{};
  std::string_view served{};
};

inline constexpr std::array kOpVersions{
    OpVersion{"BatchMatMul", "BatchMatMulV2"},
    OpVersion{"BatchMatMulV3", "BatchMatMulV2"},
    OpVersion{"BiasAddV1", "BiasAdd"},
    OpVersion{"CheckNumericsV2", "CheckNumerics"},
    OpVersion{"Concat", "ConcatV2"},
    OpVersion{"Div", "RealDiv"},  // TruncateDiv for integers
    OpVersion{"FIFOQueue", "FIFOQueueV2"},
    OpVersion{"FusedBatchNorm", "FusedBatchNormV3"},
    OpVersion{"FusedBatchNormGrad", "FusedBatchNormGradV3"},
    OpVersion{"FusedBatchNormGradV2", "FusedBatchNormGradV3"},
    OpVersion{"FusedBatchNormV2", "FusedBatchNormV3"},
    OpVersion{"Gather", "GatherV2"},
    OpVersion{"InTopK", "InTopKV2"},
    OpVersion{"Iterator", "IteratorV2"},
    OpVersion{"Mod", "TruncateMod"},
    OpVersion{"QueueClose", "QueueCloseV2"},
    OpVersion{"QueueDequeue", "QueueDequeueV2"},
    OpVersion{"QueueDequeueMany", "QueueDequeueManyV2"},
    OpVersion{"QueueEnqueue", "QueueEnqueueV2"},
    OpVersion{"QueueEnqueueMany", "QueueEnqueueManyV2"},
    OpVersion{"QueueSize", "QueueSizeV2"},
    OpVersion{"RefMerge", "Merge"},  // gives a value, which is all that a branch is read for
    OpVersion{"Variable", "VariableV2"},
};

/// The attribute if it is there and a dtype.
inline DType dtype_attr(const NodeDef& node, std::string_view key) {
  const auto found = node.attrs.find(key);
  const auto* dtype = found == node.attrs.end() ? nullptr : std::get_if<DType>(&found->second);
  return dtype == nullptr ? DType::Invalid : *dtype;
}

inline void erase_attr(NodeDef& node, std::string_view key) {
  if (const auto found = node.attrs.find(key); found != node.attrs.end()) node.attrs.erase(found);
}

/// The end of the inputs that are no control inputs.
inline auto end_of_data(NodeDef& node) {
  return std::ranges::find_if(node.inputs, [](const std::string& input) { return input.starts_with('^'); });
}

std::string_view OpVersions::served(std::string_view type) noexcept {
  const auto found = std::ranges::find(kOpVersions, type, &OpVersion::type);
  return found == kOpVersions.end() ? type : found->served;
}

bool OpVersions::occur_in(const GraphDef& def, std::span<const OpDef> extra) {
  return std::ranges::any_of(def.nodes, [&](const NodeDef& node) {
    return served(node.op) != node.op && std::ranges::find(extra, node.op, &OpDef::type) == extra.end();
  });
}

GraphDef OpVersions::replaced() && {
  for (NodeDef& node : def_.nodes) {
    if (std::ranges::find(extra_, node.op, &OpDef::type) == extra_.end()) convert(node);
  }
  def_.nodes.insert(def_.nodes.end(), std::make_move_iterator(constants_.begin()),
                    std::make_move_iterator(constants_.end()));
  return std::move(def_);
}

void OpVersions::convert(NodeDef& node) {
  const std::string type = node.op;
  node.op = served(type);
  if (type == "BatchMatMulV3") {
    const DType dtype = dtype_attr(node, "Tout");
    if (dtype != dtype_attr(node, "Ta") || dtype != dtype_attr(node, "Tb")) {
      node.op = type;  // a product of two dtypes, which nothing here computes
      return;
    }
    for (const char* key : {"Ta", "Tb", "Tout"}) erase_attr(node, key);
    node.attrs.insert_or_assign("T", dtype);
  } else if (type == "Concat" && !node.inputs.empty()) {  // its axis comes first
    std::ranges::rotate(node.inputs.begin(), node.inputs.begin() + 1, end_of_data(node));
  } else if (type == "Div" && is_integer(dtype_attr(node, "T"))) {
    node.op = "TruncateDiv";
  } else if (type == "FIFOQueue") {
    node.output_shapes.clear();  // those of a handle of two strings
  } else if (node.op == "FusedBatchNormV3" || type == "FusedBatchNormGrad" || type == "FusedBatchNormGradV2") {
    node.attrs.emplace("U", DType::Float);
    if (node.op != "FusedBatchNormV3") add_input(node, "reserve_space_3", Tensor(0.0F));
  } else if (type == "Gather") {
    erase_attr(node, "validate_indices");
    node.attrs.insert_or_assign("Taxis", DType::Int32);
    add_input(node, "axis", Tensor(std::int32_t{0}));
  } else if (type == "InTopK") {
    const auto found = node.attrs.find("k");
    const auto* k = found == node.attrs.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    const bool is_wide = dtype_attr(node, "T") == DType::Int64;
    if (k != nullptr) add_input(node, "k", is_wide ? Tensor(*k) : Tensor(static_cast<std::int32_t>(*k)));
    erase_attr(node, "k");
  } else if (type == "Variable") {
    const auto found = node.attrs.find("shape");
    const auto* shape = found == node.attrs.end() ? nullptr : std::get_if<PartialShape>(&found->second);
    if (shape != nullptr && *shape == PartialShape(Shape{}))
      found->second = PartialShape();  // means that it is unknown
  }
}

void OpVersions::add_input(NodeDef& node, std::string_view name, Tensor value) {
  if (names_.empty()) {
    for (const NodeDef& other : def_.nodes) names_.insert(other.name);
  }
  std::string whole = fmt::format("{}/{}", node.name, name);
  while (!names_.insert(whole).second) whole += '_';
  node.inputs.insert(end_of_data(node), whole);
  constants_.push_back(
      {.name = whole, .op = "Const", .attrs = {{"dtype", value.dtype()}, {"value", std::move(value)}}});
}

}  // namespace trainhook::detail
