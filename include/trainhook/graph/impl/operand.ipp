// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/operand.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>

namespace trainhook {

Output Operand::beside(const Output& other, std::string_view name) const {
  if (!is_number_) return output_;
  Graph& graph = detail::graph_of(name, other);
  return constant(graph, detail::filled_tensor(other.dtype(), Shape{}, number_), name);
}

}  // namespace trainhook

namespace trainhook::detail {

std::pair<Output, Output> both(std::string_view type, const Operand& x, const Operand& y) {
  if (x.is_number() && y.is_number()) {
    throw InvalidArgumentError("{}: {} and {} are both numbers; make one of them a constant() of the graph", type,
                               x.number(), y.number());
  }
  graph_of(type, x.is_number() ? y.output() : x.output());
  return {x.beside(y.output()), y.beside(x.output())};
}

}  // namespace trainhook::detail
