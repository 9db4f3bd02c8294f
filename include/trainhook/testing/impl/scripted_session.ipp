// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/scripted_session.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::testing {

Script::Script(const std::string& scope)
    : global_step(make_step(graph_, scope)), train_(graph_.add({.type = "ScriptedTrain", .name = "train"})) {
  initial_values[global_step.name()] = Tensor(std::int64_t{0});
}

Output Script::value(const std::string& name, std::function<Tensor()> give, DType dtype, const PartialShape& shape) {
  const Output output = graph_.add({.type = "ScriptedValue", .name = name, .outputs = {{dtype, shape}}}).output();
  values[&output.node()] = std::move(give);
  return output;
}

Operation Script::operation(const std::string& name, std::function<void()> run) {
  const Operation operation = graph_.add({.type = "ScriptedOperation", .name = name});
  operations[&operation.node()] = std::move(run);
  return operation;
}

Variable Script::variable(const std::string& name, const Tensor& initial) {
  const Output first = graph_
                           .add({.type = "Const",
                                 .name = fmt::format("{}/initial", name),
                                 .attrs = {{"dtype", initial.dtype()}, {"value", initial}},
                                 .outputs = {{initial.dtype(), initial.shape()}}})
                           .output();
  const Variable variable = make_variable(name, first, {.trainable = false});
  initial_values[variable.name()] = initial;
  return variable;
}

void Script::input_state(const std::string& name, const Tensor& initial) {
  initial_values[name] = initial;
  inputs.insert(name);
}

std::string Script::take_requests() { return std::exchange(requests, std::string()); }

Variable Script::make_step(Graph& graph, const std::string& scope) {
  if (scope.empty()) return create_global_step(graph);
  const Graph::Scope inside = graph.name_scope(scope);
  const Output zero = graph
                          .add({.type = "Const",
                                .name = "step/initial",
                                .attrs = {{"dtype", DType::Int64}, {"value", Tensor(std::int64_t{0})}},
                                .outputs = {{DType::Int64, Shape{}}}})
                          .output();
  Variable step = make_variable("step", zero, {.trainable = false});
  graph.add_to_collection(graph_keys::kGlobalStep, step);
  return step;
}

ScriptedSession::ScriptedSession(Script& script) : script_(&script), variables_(script.initial_values) {
  ++script.sessions;
}

void ScriptedSession::execute(const RunRequest& request, std::span<Tensor> results) {
  if (closed_) throw FailedPreconditionError("the scripted session is closed");
  if (results.size() != request.fetches.size()) {
    throw InvalidArgumentError("there is room for {} results of {} fetches", results.size(), request.fetches.size());
  }
  ++script_->executes;
  if (script_->keeps_requests) record(request);
  if (script_->before_each_run) script_->before_each_run();
  const bool trains = request.step || std::ranges::any_of(request.fetches, [&](const Fetch& fetch) {
                        return &fetch.node() == &script_->train().node();
                      });
  if (trains) {
    ++script_->runs;
    if (const auto failure = script_->failures.find(script_->runs); failure != script_->failures.end())
      failure->second();
  }
  if (request.step) request.step();
  for (std::size_t i = 0; i < request.fetches.size(); ++i) results[i] = evaluate(request.fetches[i], request.feed_dict);
  for (const Fetch& fetch : request.fetches) {
    if (const auto operation = script_->operations.find(&fetch.node()); operation != script_->operations.end())
      operation->second();
  }
  if (trains) {
    Tensor& step = variable(script_->global_step.name());
    step = Tensor(step.scalar<std::int64_t>() + script_->step_by);
  }
  if (request.is_traced()) {
    for (const Fetch& fetch : request.fetches) {
      request.metadata->node_stats.push_back({.node_name = fetch.node().name(), .op_type = fetch.node().type()});
    }
  }
}

std::vector<StateSpec> ScriptedSession::state() const {
  std::map<std::string, Tensor> all = variables_;
  all.insert(script_->initial_values.begin(), script_->initial_values.end());
  std::vector<StateSpec> specs;
  for (const auto& [name, value] : all) {
    const StateKind kind = script_->inputs.contains(name) ? StateKind::Input : StateKind::Variable;
    specs.push_back({.name = name, .kind = kind, .dtype = value.dtype(), .shape = value.shape()});
  }
  return specs;
}

std::vector<NamedTensor> ScriptedSession::snapshot(std::span<const std::string> names) const {
  std::vector<NamedTensor> entries;
  for (const std::string& name : names) entries.push_back({name, variable(name)});
  return entries;
}

void ScriptedSession::load(std::span<const NamedTensor> entries) {
  for (const NamedTensor& entry : entries) {
    const Tensor& present = variable(entry.name);
    if (entry.tensor.dtype() != present.dtype() || entry.tensor.shape() != present.shape()) {
      throw InvalidArgumentError("variable '{}' is {}{} and cannot take {}{}", entry.name, present.dtype(),
                                 present.shape(), entry.tensor.dtype(), entry.tensor.shape());
    }
  }
  for (const NamedTensor& entry : entries) variable(entry.name) = entry.tensor;
}

void ScriptedSession::close() {
  if (!std::exchange(closed_, true)) ++script_->closes;
}

const Tensor& ScriptedSession::variable(const std::string& name) const {
  if (const auto found = variables_.find(name); found != variables_.end()) return found->second;
  const auto initial = script_->initial_values.find(name);
  if (initial == script_->initial_values.end()) throw NotFoundError("the script has no variable '{}'", name);
  return initial->second;
}

Tensor& ScriptedSession::variable(const std::string& name) {
  if (!variables_.contains(name)) variables_.emplace(name, std::as_const(*this).variable(name));
  return variables_.at(name);
}

void ScriptedSession::record(const RunRequest& request) const {
  std::string line = request.step ? "run step" : "run";
  std::string_view separator = request.step ? ", " : " ";
  for (const Fetch& fetch : request.fetches) {
    line += fmt::format("{}{}", separator, fetch.node().name());
    if (!fetch.is_operation()) line += fmt::format(":{}", fetch.index());
    separator = ", ";
  }
  separator = " <- ";
  for (const Feed& feed : request.feed_dict) {
    line += fmt::format("{}{}", separator, feed.key.name());
    separator = ", ";
  }
  script_->requests += fmt::format("{}\n", line);
}

Tensor ScriptedSession::evaluate(const Fetch& fetch, std::span<const Feed> feeds) {
  for (const Feed& feed : feeds) {
    if (!fetch.is_operation() && Fetch(feed.key) == fetch) return feed.value;
  }
  if (fetch.is_operation()) return {};
  if (const auto value = script_->values.find(&fetch.node()); value != script_->values.end()) return value->second();
  if (fetch.node().type() == "Identity") return variable(fetch.node().inputs()[0].node().name());
  throw InvalidArgumentError("the script has no value for '{}'; feed one", fetch.node().name());
}

OwnedSession ScriptedSessionCreator::create_session() {
  script_->graph().finalize();
  return OwnedSession::make<ScriptedSession>(*script_);
}

}  // namespace trainhook::testing
