// SPDX-License-Identifier: Apache-2.0
/// @file
/// ScriptedSession: an engine that a test controls.
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

/// The state that scripted sessions share when they are recreated: the graph, the initial values, and planned errors.
class Script {
 public:
  /// @param scope the scope of the global step, as `<scope>/step`; empty: TensorFlow's `global_step`
  TRAINHOOK_DECL explicit Script(const std::string& scope = {});

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

  /// An operation that adds 1 to the global step.
  [[nodiscard]] Operation train() const noexcept { return train_; }

  /// Adds an output with the value that `give` returns.
  TRAINHOOK_DECL Output value(const std::string& name, std::function<Tensor()> give, DType dtype = DType::Float,
                              const PartialShape& shape = Shape{});

  /// Adds an operation that calls `run` after the run's fetched values were taken.
  TRAINHOOK_DECL Operation operation(const std::string& name, std::function<void()> run);

  /// Adds a variable that is in the checkpoint.
  TRAINHOOK_DECL Variable variable(const std::string& name, const Tensor& initial);

  /// Adds state of an input pipeline, which savers save only if a hook or saveable asks for it.
  TRAINHOOK_DECL void input_state(const std::string& name, const Tensor& initial);

  /// Makes the `run`-th run of the train operation, counted from 1 over all sessions, throw `error` before it does
  /// anything.
  template <class E>
  void throw_at(int run, E error) {
    failures[run] = [error = std::move(error)] { throw E(error); };
  }

  /// One line per run since the last call: `run train, loss:0 <- rate:0`, with the feeds after the arrow; `step` means
  /// the user's code.
  [[nodiscard]] TRAINHOOK_DECL std::string take_requests();

  std::map<std::string, Tensor> initial_values;
  std::set<std::string> inputs;  ///< the initial values that are state of input pipelines
  std::map<const Node*, std::function<Tensor()>> values;
  std::map<const Node*, std::function<void()>> operations;
  std::map<int, std::function<void()>> failures;
  std::function<void()> before_each_run;  ///< called before every run; may throw
  bool keeps_requests = true;             ///< false: records nothing, so that a run does not allocate
  std::string requests;                   ///< the lines of `take_requests`
  int runs = 0;                           ///< runs of the train operation
  int executes = 0;                       ///< all runs
  int sessions = 0;                       ///< created sessions
  int closes = 0;                         ///< closed sessions
  std::int64_t step_by = 1;               ///< what the train operation adds to the global step

 private:
  TRAINHOOK_DECL static Variable make_step(Graph& graph, const std::string& scope);

  Graph graph_;

 public:
  Variable global_step;

 private:
  Operation train_;
};

/// One session of a script: variables are in a map, the train operation adds to the global step, values come from the
/// test's functions. A traced run lists the fetches, at time 0.
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

  /// A variable or input state of this session. If it was added to the script later, it starts with its initial value.
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

/// Creates scripted sessions; each starts with the script's initial values.
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
