// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of saver_nodes.hpp.
#pragma once

#include <trainhook/graph_def/saver_nodes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>

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

}  // namespace trainhook::detail
