// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/gradients.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook::detail {

[[noreturn]] inline void refuse_second_gradient(std::string_view op_type) {
  throw AlreadyExistsError("op type {} has a gradient function already; replace() changes it", op_type);
}

class GradientBuilder {
 public:
  GradientBuilder(const std::vector<Output>& ys, const std::vector<Output>& xs, const GradientOptions& options)
      : graph_(graph_of("gradients", ys.front())), xs_(xs), options_(options), reached_(graph_.size(), false) {
    for (const Output& y : ys) {
      graph_.check_belongs(y, "a y", "gradients()");
      require_dtype("gradients", y, is_floating(y.dtype()), "a floating dtype");
      last_ = (std::max)(last_, y.node().id());
    }
    for (const Output& x : xs) {
      graph_.check_belongs(x, "an x", "gradients()");
      x_keys_.insert(key(x));
    }
    for (const Output& stop : options.stop_gradients) {
      if (stop.has_value() && &stop.graph() == &graph_) stopped_.insert(key(stop));
    }
    mark_reached();
  }

  std::vector<Output> build(const std::vector<Output>& ys) {
    const Graph::Scope scope = graph_.name_scope(options_.name);
    for (std::size_t i = 0; i < ys.size(); ++i) collect(ys[i], first_gradient(ys[i], i));
    for (std::size_t id = last_ + 1; id-- > 0;) {
      const Operation op = graph_.operation_at(id);
      if (reached_[id] && has_gradient(op)) propagate(op);
    }
    std::vector<Output> result;
    for (const Output& x : xs_) result.push_back(total(x));
    return result;
  }

 private:
  using Key = std::pair<std::size_t, std::size_t>;
  static Key key(const Output& x) { return {x.node().id(), x.index()}; }

  [[nodiscard]] bool leads_to_x(const Output& x) const {
    const bool may_carry = is_floating(x.dtype()) || x.dtype() == DType::Invalid;  // a resource can hold values
    return may_carry && (reached_[x.node().id()] || x_keys_.contains(key(x))) && !stopped_.contains(key(x));
  }

  /// Marks the nodes that some x goes into; the inputs of a node always come before it.
  void mark_reached() {
    for (std::size_t id = 0; id <= last_; ++id) {
      const std::span<const Output> inputs = graph_.operation_at(id).node().inputs();
      reached_[id] =
          std::any_of(inputs.begin(), inputs.end(), [this](const Output& input) { return leads_to_x(input); });
    }
  }

  Output first_gradient(const Output& y, std::size_t index) {
    if (index < options_.grad_ys.size() && options_.grad_ys[index].has_value()) {
      const Output given = options_.grad_ys[index];
      graph_.check_belongs(given, "a grad_y", "gradients()");
      require_same_dtype("gradients", y, given);
      static_cast<void>(merged_shape("gradients", y, given));
      return given;
    }
    const std::string name = fmt::format("grad_ys_{}", index);
    return y.shape().is_fully_known() ? ones(graph_, y.shape().known(), y.dtype(), name) : ones_like(y, name);
  }

  void collect(const Output& x, const Output& gradient) { parts_[key(x)].push_back(gradient); }

  [[nodiscard]] bool has_gradient(const Operation& op) const {
    const auto first = parts_.lower_bound({op.node().id(), 0});
    return first != parts_.end() && first->first.first == op.node().id();
  }

  /// The sum of all gradients that have come to `x`; without value if none has.
  Output total(const Output& x) {
    const auto found = parts_.find(key(x));
    if (found == parts_.end()) return {};
    if (found->second.size() > 1) found->second = {add_n(found->second)};
    return found->second.front();
  }

  void propagate(const Operation& op) {
    std::vector<Output> grads;
    for (std::size_t i = 0; i < op.node().outputs().size(); ++i) grads.push_back(total(op.output(i)));
    std::vector<bool> needed;
    for (const Output& input : op.node().inputs()) needed.push_back(leads_to_x(input));
    const GradientFunction function = options_.registry.find(op.node());
    const Graph::Scope scope = graph_.name_scope(op.name() + "_grad");
    const std::vector<Output> result = function(GradientContext(op, std::move(grads), needed));
    if (result.size() != needed.size()) {
      throw InternalError("the gradient function of {} gave {} gradients for {} inputs", op.type(), result.size(),
                          needed.size());
    }
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i] && result[i].has_value()) collect(op.node().inputs()[i], result[i]);
    }
  }

  Graph& graph_;
  const std::vector<Output>& xs_;
  std::set<Key> x_keys_;
  std::set<Key> stopped_;
  const GradientOptions& options_;
  std::vector<bool> reached_;
  std::size_t last_ = 0;
  std::map<Key, std::vector<Output>> parts_;
};

}  // namespace trainhook::detail

namespace trainhook {

void GradientRegistry::add(std::string_view op_type, GradientFunction function) {
  if (!entries_.emplace(op_type, Entry{std::move(function)}).second) detail::refuse_second_gradient(op_type);
}

void GradientRegistry::replace(std::string_view op_type, GradientFunction function) {
  entries_.insert_or_assign(std::string(op_type), Entry{std::move(function), true});
}

void GradientRegistry::add_not_differentiable(std::string_view op_type) { add(op_type, detail::no_gradient); }

GradientFunction GradientRegistry::find(const Node& node) const {
  const GradientRule rule = node.op_def() != nullptr ? node.op_def()->gradient : nullptr;
  if (const auto found = entries_.find(node.type()); found != entries_.end()) {
    if (rule != nullptr && !found->second.replaces) detail::refuse_second_gradient(node.type());
    return found->second.function;
  }
  if (rule != nullptr) return rule;
  throw NotFoundError(
      "no gradient is registered for op type {} of node {}; "
      "add one to the GradientRegistry, or put stop_gradient() behind the node",
      node.type(), node.name());
}

std::vector<Output> gradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                              const GradientOptions& options) {
  if (ys.empty()) throw InvalidArgumentError("gradients() needs at least one y");
  if (options.grad_ys.size() > ys.size()) {
    throw InvalidArgumentError("gradients(): {} grad_ys for {} ys", options.grad_ys.size(), ys.size());
  }
  return detail::GradientBuilder(ys, xs, options).build(ys);
}

std::vector<Output> gradients(Output y, const std::vector<Output>& xs, const GradientOptions& options) {
  return gradients(std::vector<Output>{y}, xs, options);
}

}  // namespace trainhook
