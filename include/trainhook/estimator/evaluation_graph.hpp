// SPDX-License-Identifier: Apache-2.0
/// @file
/// EvaluationGraph: a model built for evaluation, which can be run any number of times.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/estimator/built_model.hpp>
#include <trainhook/estimator/model_fn.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileWriter;
class HookServices;

/// The values of all metrics by name, of `loss` (float32), and of `global_step` (int64).
using EvalMetrics = std::map<std::string, Tensor, std::less<>>;

namespace detail {

/// Evaluates one model any number of times, each time in a new session.
class EvaluationGraph {
 public:
  TRAINHOOK_DECL EvaluationGraph(const ModelSource& source, const InputFn& input_fn, std::optional<std::int64_t> steps,
                                 HookList hooks);

  [[nodiscard]] const BuiltModel& model() const noexcept { return model_; }

  /// @param checkpoint empty: the values that `scaffold` gives
  /// @param scaffold null: that of the model
  [[nodiscard]] TRAINHOOK_DECL EvalMetrics run(const CheckpointSource& checkpoint,
                                               std::shared_ptr<Scaffold> scaffold = nullptr);

 private:
  const ModelSource* source_;
  BuiltModel model_;
  std::optional<std::int64_t> steps_;
  HookList hooks_;
  Operation eval_op_;
  FetchRefs final_ops_;
};

/// Calls `evaluate`, with a log line instead of its error if an interruption has prevented or ended the evaluation:
/// then a later run makes it.
TRAINHOOK_DECL void evaluate_unless_interrupted(FunctionRef<void()> evaluate);

/// Logs the metrics and writes them as scalars at their `global_step`. Skips those that are not numbers, with a log
/// line. @param checkpoint_path is written as a text; empty: none
TRAINHOOK_DECL void write_metrics(FileWriter& writer, const EvalMetrics& metrics, const std::string& checkpoint_path);

/// Publishes the metrics that are numbers for hooks, as `<name>/<metric>`. @param name empty: `eval`
/// @param is_extra see PublishedMetric
TRAINHOOK_DECL void publish_metrics(HookServices& services, std::string_view name, const EvalMetrics& metrics,
                                    bool is_extra);

/// The directory of the events of evaluations called `name`.
[[nodiscard]] TRAINHOOK_DECL std::string eval_dir_of(const RunConfig& config, std::string_view name);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/evaluation_graph.ipp>
#endif
