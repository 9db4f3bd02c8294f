// SPDX-License-Identifier: Apache-2.0
/// @file
/// ScriptedSession: an engine that does what a test says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_forms.hpp>

namespace trainhook::testing {

/// What scripted sessions share over their recreations: the graph, the initial values, and what goes wrong when.
class Script {
 public:
  /// @param scope scope of the global step, as `<scope>/step`; empty: TensorFlow's own `global_step`
  TRAINHOOK_DECL explicit Script(const std::string& scope = {});

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

  /// An operation that adds 1 to the global step.
  [[nodiscard]] Operation train() const noexcept { return train_; }

  /// An output whose value is what `give` returns.
  TRAINHOOK_DECL Output value(const std::string& name, std::function<Tensor()> give, DType dtype = DType::Float,
                              const PartialShape& shape = Shape{});

  /// An operation that calls `run` after the values that its session run fetches were taken.
  TRAINHOOK_DECL Operation operation(const std::string& name, std::function<void()> run);

  /// A variable that is in the checkpoint.
  TRAINHOOK_DECL Variable variable(const std::string& name, const Tensor& initial);

  /// State of an input pipeline, which a model's saver leaves alone unless it is asked for.
  TRAINHOOK_DECL void input_state(const std::string& name, const Tensor& initial);

  /// Makes run number `run` (from 1, counted over all sessions, runs of the train operation only) throw `error` before
  /// it does anything.
  template <class E>
  void throw_at(int run, E error) {
    failures[run] = [error = std::move(error)] { throw E(error); };
  }

  /// One line for each run since the last call: `run train, loss:0 <- rate:0`, with what was fed behind the arrow;
  /// `step` is code of the user's own.
  [[nodiscard]] TRAINHOOK_DECL std::string take_requests();

  std::map<std::string, Tensor> initial_values;
  std::set<std::string> inputs;  ///< which of the initial values are state of input pipelines
  std::map<const Node*, std::function<Tensor()>> values;
  std::map<const Node*, std::function<void()>> operations;
  std::map<int, std::function<void()>> failures;
  std::function<void()> before_each_run;  ///< called for every run, before it does anything; may throw
  bool keeps_requests = true;             ///< false: nothing is written down, so that a run allocates nothing
  std::string requests;                   ///< what `take_requests` gives
  int runs = 0;                           ///< runs of the train operation
  int executes = 0;                       ///< all runs
  int sessions = 0;                       ///< sessions made
  int closes = 0;                         ///< sessions closed
  std::int64_t step_by = 1;               ///< what the train operation adds to the global step

 private:
  TRAINHOOK_DECL static Variable make_step(Graph& graph, const std::string& scope);

  Graph graph_;

 public:
  Variable global_step;

 private:
  Operation train_;
};

/// One session of a script: variables are a map, the train operation counts, values are the test's functions. A traced
/// run lists what was fetched, at time 0.
class ScriptedSession : public RunForms<ScriptedSession, true> {
 public:
  static constexpr bool kRunsUserCode = true;

  TRAINHOOK_DECL explicit ScriptedSession(Script& script);

  [[nodiscard]] Graph& graph() noexcept { return script_->graph(); }

  TRAINHOOK_DECL void execute(const RunRequest& request, std::span<Tensor> results);
  [[nodiscard]] TRAINHOOK_DECL std::vector<StateSpec> state() const;
  [[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> snapshot(std::span<const std::string> names) const;
  TRAINHOOK_DECL void load(std::span<const NamedTensor> entries);
  TRAINHOOK_DECL void close();
  void run_request(const RunRequest& request, std::span<Tensor> results) { execute(request, results); }

  /// A variable or input state of this session, to look at and to set. One that was added to the script later begins
  /// with its initial value.
  /// @throws NotFoundError if the script has no such variable.
  [[nodiscard]] TRAINHOOK_DECL const Tensor& variable(const std::string& name) const;
  [[nodiscard]] TRAINHOOK_DECL Tensor& variable(const std::string& name);

 private:
  TRAINHOOK_DECL void record(const RunRequest& request) const;
  TRAINHOOK_DECL Tensor evaluate(const Fetch& fetch, std::span<const Feed> feeds);

  Script* script_;
  std::map<std::string, Tensor> variables_;
  bool closed_ = false;
};

/// Makes scripted sessions; each begins with the script's initial values.
class ScriptedSessionCreator final : public SessionCreator {
 public:
  explicit ScriptedSessionCreator(Script& script) : script_(&script) {}
  [[nodiscard]] Graph& graph() override { return script_->graph(); }
  [[nodiscard]] TRAINHOOK_DECL OwnedSession create_session() override;

 private:
  Script* script_;
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/scripted_session.ipp>
#endif
