// SPDX-License-Identifier: Apache-2.0
/// @file
/// evaluate_once: evaluates one checkpoint of a graph.
#pragma once

#include <memory>
#include <vector>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/feed.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class Clock;
class FileSystem;
class Scaffold;

struct EvaluateOnceOptions {
  CheckpointSource checkpoint_path{};    ///< empty: the initial values
  std::shared_ptr<Scaffold> scaffold{};  ///< null: a new one with all defaults
  std::vector<Operation> eval_ops{};     ///< run repeatedly; empty: only the final ops run
  FeedDict feed_dict{};                  ///< feeds for `eval_ops`
  FetchRefs final_ops{};                 ///< run once, at the end
  FeedDict final_ops_feed_dict{};        ///< feeds for `final_ops`
  HookList hooks{};                      ///< a StopAfterNEvalsHook stops it before the end of the input
  FileSystem* file_system = nullptr;     ///< null: the disk
  Clock* clock = nullptr;                ///< null: the system's clock
};

namespace detail {

/// Adds a counter of evaluations to the graph. Returns an operation that runs `eval_ops` and increments it.
[[nodiscard]] TRAINHOOK_DECL Operation count_evaluations(Graph& graph, std::vector<Operation> eval_ops);

/// Runs `eval_op`, if there is one, until a hook stops it or the input ends, then the final ops, whose values it
/// returns in order. Ignores `options.eval_ops`.
TRAINHOOK_DECL std::vector<Tensor> run_evaluation(Graph& graph, SessionOpener open, Operation eval_op,
                                                  const EvaluateOnceOptions& options);

}  // namespace detail

/// Restores the checkpoint into a new session, runs `eval_ops` until a hook requests a stop or the input ends, then the
/// final ops once. Returns their values, in the order of `final_ops`. The local variable `eval_step` counts the runs of
/// the eval ops. `graph` must not be finalized; `session_args` are passed to the constructor of engine `S` after the
/// graph. Source: TensorFlow's `evaluate_once`, which also counts the run that reached the end of the input.
template <SessionLike S, class... SessionArgs>
std::vector<Tensor> evaluate_once(Graph& graph, const EvaluateOnceOptions& options, SessionArgs... session_args) {
  const Operation eval_op = options.eval_ops.empty() ? Operation() : detail::count_evaluations(graph, options.eval_ops);
  return detail::run_evaluation(
      graph, [&graph, session_args...] { return OwnedSession::make<S>(graph, session_args...); }, eval_op, options);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/evaluate_once.ipp>
#endif
