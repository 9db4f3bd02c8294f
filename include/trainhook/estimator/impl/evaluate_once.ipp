// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/estimator/evaluate_once.hpp>

#include <cstdint>
#include <utility>

#include <trainhook/compat/stop_hooks.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/hooks/final_ops_hook.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/monitored_session.hpp>

namespace trainhook::detail {

Operation count_evaluations(Graph& graph, std::vector<Operation> eval_ops) {
  const Variable step = make_variable("eval_step", constant(graph, Tensor(std::int64_t{0})),
                                      {.trainable = false, .collections = {std::string(graph_keys::kLocalVariables)}});
  const Output counted = assign_add(step, 1);
  eval_ops.push_back(counted.operation());
  graph.add_to_collection(graph_keys::kEvalStep, with_dependencies(eval_ops, counted, "evals_completed"));
  return group(graph, std::move(eval_ops), "evaluation");
}

std::vector<Tensor> run_evaluation(Graph& graph, SessionOpener open, Operation eval_op,
                                   const EvaluateOnceOptions& options) {
  auto final_ops = std::make_shared<FinalOpsHook>(
      options.final_ops, FinalOpsHook::Options{.final_ops_feed_dict = options.final_ops_feed_dict});
  HookList hooks = options.hooks;
  hooks.emplace_back(final_ops);
  log_info("Starting evaluation{}{}.", options.checkpoint_path.empty() ? "" : " of ", options.checkpoint_path.path());
  SessionHandle session(std::make_shared<ChiefSessionCreator>(
                            graph, std::move(open),
                            ChiefSessionCreatorOptions{.scaffold = options.scaffold,
                                                       .checkpoint_filename_with_path = options.checkpoint_path,
                                                       .file_system = options.file_system,
                                                       .clock = options.clock}),
                        {.hooks = std::move(hooks), .file_system = options.file_system, .clock = options.clock});
  if (eval_op.has_value()) {
    const Fetch fetch(eval_op);
    const FeedDict feeds = without_names(options.feed_dict, graph, "a feed of evaluate_once");
    Tensor nothing;
    run_until_stop(*session.get(), [&] { session->run({.fetches = {&fetch, 1}, .feed_dict = feeds}, {&nothing, 1}); });
  } else {
    session->close();
  }
  if (session->is_interrupted())
    throw CancelledError("the evaluation was interrupted ({}), so it has no result", session->why_it_ended());
  log_info("Finished evaluation.");
  return {final_ops->final_ops_values().begin(), final_ops->final_ops_values().end()};
}

}  // namespace trainhook::detail
