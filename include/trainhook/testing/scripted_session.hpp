// SPDX-License-Identifier: Apache-2.0
/// @file
/// ScriptedSession: an engine that does what a test says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/creation/session_creator.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::testing {

/// What scripted sessions share over their recreations: the graph, the initial values, and what goes wrong when.
class Script {
 public:
  /// @param scope where the global step is made, as `<scope>/step`; empty: TensorFlow's own `global_step`
  explicit Script(const std::string& scope = {})
      : global_step(make_step(graph_, scope)), train_(graph_.add({.type = "ScriptedTrain", .name = "train"})) {
    initial_values[global_step.name()] = Tensor(std::int64_t{0});
  }

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

  /// An operation that adds 1 to the global step.
  [[nodiscard]] Operation train() const noexcept { return train_; }

  /// An output whose value is what `give` returns.
  Output value(const std::string& name, std::function<Tensor()> give, DType dtype = DType::Float, const PartialShape& shape = Shape{}) {
    const Output output = graph_.add({.type = "ScriptedValue", .name = name, .outputs = {{dtype, shape}}}).output();
    values[&output.node()] = std::move(give);
    return output;
  }

  /// An operation that does what `run` does, after the values of its run were taken.
  Operation operation(const std::string& name, std::function<void()> run) {
    const Operation operation = graph_.add({.type = "ScriptedOperation", .name = name});
    operations[&operation.node()] = std::move(run);
    return operation;
  }

  /// A variable that stands in the checkpoint.
  Variable variable(const std::string& name, const Tensor& initial) {
    const Output first = graph_
                             .add({.type = "Const",
                                   .name = name + "/initial",
                                   .attrs = {{"dtype", initial.dtype()}, {"value", initial}},
                                   .outputs = {{initial.dtype(), initial.shape()}}})
                             .output();
    const Variable variable = make_variable(name, first, {.trainable = false});
    initial_values[variable.name()] = initial;
    return variable;
  }

  /// State of an input pipeline, which a model's saver leaves alone unless it is asked for.
  void input_state(const std::string& name, const Tensor& initial) {
    initial_values[name] = initial;
    inputs.insert(name);
  }

  /// Makes run number `run` (from 1, counted over all sessions, runs of the train operation only) throw `error` before it does anything.
  template <class E>
  void throw_at(int run, E error) {
    failures[run] = std::make_exception_ptr(std::move(error));
  }

  /// One line for each run since the last call: `run train, loss:0 <- rate:0`, with what was fed behind the arrow; `step` is code of the
  /// user's own.
  [[nodiscard]] std::string take_requests() { return std::exchange(requests, std::string()); }

  std::map<std::string, Tensor> initial_values;
  std::set<std::string> inputs;  ///< which of the initial values are state of input pipelines
  std::map<const Node*, std::function<Tensor()>> values;
  std::map<const Node*, std::function<void()>> operations;
  std::map<int, std::exception_ptr> failures;
  std::function<void()> before_each_run;  ///< called for every run, before it does anything; may throw
  bool keeps_requests = true;             ///< false: nothing is written down, so that a run allocates nothing
  std::string requests;                   ///< what `take_requests` gives
  int runs = 0;                           ///< runs of the train operation
  int executes = 0;                       ///< all runs
  int sessions = 0;                       ///< sessions made
  int closes = 0;                         ///< sessions closed
  std::int64_t step_by = 1;               ///< what the train operation adds

 private:
  static Variable make_step(Graph& graph, const std::string& scope) {
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

  Graph graph_;

 public:
  Variable global_step;

 private:
  Operation train_;
};

/// One session of a script: variables are a map, the train operation counts, values are the test's functions. A traced run tells of what
/// was fetched, at time 0.
class ScriptedSession : public RunForms<ScriptedSession, true> {
 public:
  static constexpr bool kRunsUserCode = true;

  explicit ScriptedSession(Script& script) : script_(&script), variables_(script.initial_values) { ++script.sessions; }

  [[nodiscard]] Graph& graph() noexcept { return script_->graph(); }

  void execute(const RunRequest& request, std::span<Tensor> results) {
    if (closed_) throw FailedPreconditionError("the scripted session is closed");
    if (results.size() != request.fetches.size()) {
      throw InvalidArgumentError("there is room for ", results.size(), " results of ", request.fetches.size(), " fetches");
    }
    ++script_->executes;
    if (script_->keeps_requests) record(request);
    if (script_->before_each_run) script_->before_each_run();
    const bool trains =
        request.step || std::ranges::any_of(request.fetches, [&](const Fetch& fetch) { return &fetch.node() == &script_->train().node(); });
    if (trains) {
      ++script_->runs;
      if (const auto failure = script_->failures.find(script_->runs); failure != script_->failures.end())
        std::rethrow_exception(failure->second);
    }
    if (request.step) request.step();
    for (std::size_t i = 0; i < request.fetches.size(); ++i) results[i] = evaluate(request.fetches[i], request.feeds);
    for (const Fetch& fetch : request.fetches) {
      if (const auto operation = script_->operations.find(&fetch.node()); operation != script_->operations.end()) operation->second();
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
  [[nodiscard]] std::vector<StateSpec> state() const {
    std::map<std::string, Tensor> all = variables_;
    all.insert(script_->initial_values.begin(), script_->initial_values.end());
    std::vector<StateSpec> specs;
    for (const auto& [name, value] : all) {
      const StateKind kind = script_->inputs.contains(name) ? StateKind::Input : StateKind::Variable;
      specs.push_back({.name = name, .kind = kind, .dtype = value.dtype(), .shape = value.shape()});
    }
    return specs;
  }
  [[nodiscard]] std::vector<NamedTensor> snapshot(std::span<const std::string> names) const {
    std::vector<NamedTensor> entries;
    for (const std::string& name : names) entries.push_back({name, variable(name)});
    return entries;
  }
  void load(std::span<const NamedTensor> entries) {
    for (const NamedTensor& entry : entries) {
      const Tensor& present = variable(entry.name);
      if (entry.tensor.dtype() != present.dtype() || entry.tensor.shape() != present.shape()) {
        throw InvalidArgumentError("variable '", entry.name, "' is ", present, ", not ", entry.tensor);
      }
    }
    for (const NamedTensor& entry : entries) variable(entry.name) = entry.tensor;
  }
  void close() {
    if (!std::exchange(closed_, true)) ++script_->closes;
  }
  void run_request(const RunRequest& request, std::span<Tensor> results) { execute(request, results); }

  /// A variable or input state of this session, to look at and to set. One that came to the script later begins with its initial value.
  /// @throws NotFoundError where the script has no such variable.
  [[nodiscard]] const Tensor& variable(const std::string& name) const {
    if (const auto found = variables_.find(name); found != variables_.end()) return found->second;
    const auto initial = script_->initial_values.find(name);
    if (initial == script_->initial_values.end()) throw NotFoundError("the script has no variable '", name, "'");
    return initial->second;
  }
  [[nodiscard]] Tensor& variable(const std::string& name) {
    if (!variables_.contains(name)) variables_.emplace(name, std::as_const(*this).variable(name));
    return variables_.at(name);
  }

 private:
  void record(const RunRequest& request) const {
    std::string line = request.step ? "run step" : "run";
    std::string_view separator = request.step ? ", " : " ";
    for (const Fetch& fetch : request.fetches) {
      line += str_cat(separator, fetch.node().name());
      if (!fetch.is_operation()) line += str_cat(":", fetch.index());
      separator = ", ";
    }
    separator = " <- ";
    for (const Feed& feed : request.feeds) {
      line += str_cat(separator, feed.key.name());
      separator = ", ";
    }
    script_->requests += line + "\n";
  }

  Tensor evaluate(const Fetch& fetch, std::span<const Feed> feeds) {
    for (const Feed& feed : feeds) {
      if (!fetch.is_operation() && Fetch(feed.key) == fetch) return feed.value;
    }
    if (fetch.is_operation()) return {};
    if (const auto value = script_->values.find(&fetch.node()); value != script_->values.end()) return value->second();
    if (fetch.node().type() == "Identity") return variable(fetch.node().inputs()[0].node().name());
    throw InvalidArgumentError("the script has no value for '", fetch.node().name(), "'; feed one");
  }

  Script* script_;
  std::map<std::string, Tensor> variables_;
  bool closed_ = false;
};

/// Makes scripted sessions; each begins with the script's initial values.
class ScriptedSessionCreator final : public SessionCreator {
 public:
  explicit ScriptedSessionCreator(Script& script) : script_(&script) {}
  [[nodiscard]] Graph& graph() override { return script_->graph(); }
  [[nodiscard]] OwnedSession create_session() override {
    script_->graph().finalize();
    return OwnedSession::make<ScriptedSession>(*script_);
  }

 private:
  Script* script_;
};

}  // namespace trainhook::testing
