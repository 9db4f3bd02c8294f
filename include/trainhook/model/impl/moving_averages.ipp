// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/moving_averages.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook::detail {

/// A variable read again here: a read of it may have been taken before the step that this follows. Anything else is
/// left as it is.
inline Output as_it_is_now(const Output& x) {
  const bool is_read = x.node().type() == "Identity";
  const Output from = is_read ? x.node().inputs()[0] : x;
  return from.node().type() == "VariableV2" ? identity(from, "now") : x;
}

}  // namespace trainhook::detail

namespace trainhook {

ExponentialMovingAverage::ExponentialMovingAverage(MovingAverageOptions options) : options_(std::move(options)) {
  if (!(options_.decay >= 0 && options_.decay < 1)) {
    throw InvalidArgumentError("{}: decay {} must be in [0, 1)", options_.name, options_.decay);
  }
}

Operation ExponentialMovingAverage::apply(const std::vector<Variable>& variables) {
  if (variables.empty()) throw InvalidArgumentError("{} needs at least one variable", options_.name);
  Graph& graph = detail::graph_of(options_.name, variables.front().ref());
  for (const Variable& variable : variables) add_average(graph, variable);
  const Graph::Scope scope = graph.name_scope(options_.name);
  const std::string whole = graph.current_scope();
  const Output forget = forgetting(graph);
  std::vector<Operation> updates;
  for (const Variable& variable : variables) {
    const Variable& kept = averages_.at(&variable.handle.node());
    const Output now = detail::as_it_is_now(variable);
    updates.push_back(assign_sub(kept, (kept - now) * cast(forget, variable.dtype())).operation());
  }
  return group(graph, std::move(updates), whole);
}

std::optional<Variable> ExponentialMovingAverage::average(const Variable& variable) const {
  const auto found = averages_.find(&variable.handle.node());
  return found == averages_.end() ? std::nullopt : std::optional(found->second);
}

std::string ExponentialMovingAverage::average_name(const Variable& variable) const {
  return fmt::format("{}/{}", variable.name(), options_.name);
}

void ExponentialMovingAverage::add_average(Graph& graph, const Variable& variable) {
  detail::require_floating(options_.name, variable.ref());
  if (!variable.initial_value.has_value()) {
    throw InvalidArgumentError("{}: variable {} has no initial value in the graph", options_.name, variable.name());
  }
  if (average(variable))
    throw InvalidArgumentError("{}: variable {} has an average already", options_.name, variable.name());
  const Graph::Scope top_level = graph.top_level();
  averages_.emplace(&variable.handle.node(),
                    make_variable(average_name(variable), variable.initial_value, {.trainable = false}));
  graph.add_to_collection(graph_keys::kMovingAverageVariables, variable);
}

Output ExponentialMovingAverage::forgetting(Graph& graph) const {
  const Output decay = constant(graph, Tensor(static_cast<float>(options_.decay)), "decay");
  if (!options_.num_updates) return 1 - decay;
  const Output updates = cast(detail::as_it_is_now(*options_.num_updates), DType::Float, "num_updates");
  return 1 - minimum(decay, (1 + updates) / (10 + updates));
}

}  // namespace trainhook
