// SPDX-License-Identifier: Apache-2.0
/// @file
/// evaluate_once: measures one checkpoint of a graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileSystem;
class Scaffold;

struct EvaluateOnceOptions {
  std::string checkpoint_path{};         ///< the prefix of the checkpoint; empty: the initial values
  std::shared_ptr<Scaffold> scaffold{};  ///< null: a new one with all defaults
  std::vector<Operation> eval_ops{};     ///< run again and again; none: only the final ops run
  FeedDict feed_dict{};                  ///< feeds for `eval_ops`
  FetchRefs final_ops{};                 ///< run once, at the end
  FeedDict final_ops_feed_dict{};        ///< feeds for `final_ops`
  HookList hooks{};                      ///< a StopAfterNEvalsHook among them ends it before the input does
  FileSystem* file_system = nullptr;     ///< null: the machine's own
  Clock* clock = nullptr;                ///< null: the machine's own
};

namespace detail {

/// Adds a counter of evaluations to the graph. Returns the operation that runs `eval_ops` and counts it.
[[nodiscard]] TRAINHOOK_DECL Operation count_evaluations(Graph& graph, std::vector<Operation> eval_ops);

/// Runs `eval_op`, if there is one, until a hook stops it or the input ends; then the final ops, whose values it
/// returns in their order. `options.eval_ops` does not count.
TRAINHOOK_DECL std::vector<Tensor> run_evaluation(Graph& graph, SessionOpener open, Operation eval_op,
                                                  const EvaluateOnceOptions& options);

}  // namespace detail

/// Restores the checkpoint into a session of its own, runs `eval_ops` until a hook asks to stop or the input ends, then
/// the final ops once. Returns their values, in the order of `final_ops`. How often the eval ops ran is in the local
/// variable `eval_step`. `graph` must not be final; `session_args` are passed to the constructor of engine `S` after
/// the graph. Source: TensorFlow's `evaluate_once`, which counts the run that met the end of the input, too.
template <SessionLike S, class... SessionArgs>
std::vector<Tensor> evaluate_once(Graph& graph, const EvaluateOnceOptions& options, SessionArgs... session_args) {
  const Operation eval_op = options.eval_ops.empty() ? Operation() : detail::count_evaluations(graph, options.eval_ops);
  return detail::run_evaluation(
      graph, [&graph, session_args...] { return OwnedSession::make<S>(graph, session_args...); }, eval_op, options);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/evaluate_once.ipp>
#endif
