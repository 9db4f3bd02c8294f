// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/ops/restore.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>

namespace trainhook::detail {

inline PartialShape restored_shape(const NodeSpec& node, std::size_t) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) require_rank(label(node), node.inputs[i], i == 0 ? 0 : 1);
  static_cast<void>(merged_shape(label(node), node.inputs[1], node.inputs[2]));
  return {};
}

inline constexpr OpDef kRestoreV2Op{"RestoreV2", "string string string -> dtypes", "dtypes:types>0", restored_shape};

inline constexpr std::array kRestoreOps{&kRestoreV2Op};

OpFamily restore_ops() noexcept { return kRestoreOps; }

inline Output constant_strings(Graph& graph, const std::vector<std::string>& values, std::string_view name) {
  return constant(graph, Tensor::copy_of(std::span(values), Shape{static_cast<std::int64_t>(values.size())}), name);
}

}  // namespace trainhook::detail

namespace trainhook {

std::vector<Output> restore_v2(Graph& graph, const std::string& prefix, const std::vector<RestoredTensor>& tensors,
                               std::string_view name) {
  const Graph::Scope scope = graph.name_scope(name);
  std::vector<std::string> names;
  std::vector<std::string> slices;
  std::vector<DType> dtypes;
  NodeSpec spec{.name = graph.current_scope()};
  for (const RestoredTensor& tensor : tensors) {
    names.push_back(tensor.name);
    slices.push_back(tensor.shape_and_slice);
    dtypes.push_back(tensor.output.dtype);
    spec.outputs.push_back(tensor.output);
  }
  spec.inputs = {constant(graph, Tensor(prefix), "prefix"), detail::constant_strings(graph, names, "tensor_names"),
                 detail::constant_strings(graph, slices, "shape_and_slices")};
  spec.attrs = {{"dtypes", dtypes}};
  const Operation op = detail::add_node(graph, detail::kRestoreV2Op, std::move(spec));
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) outputs.push_back(op.output(i));
  return outputs;
}

}  // namespace trainhook
