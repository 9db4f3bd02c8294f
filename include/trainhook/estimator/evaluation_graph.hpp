// SPDX-License-Identifier: Apache-2.0
/// @file
/// BuiltModel: a model function's graph for one mode. EvaluationGraph: one that is built for evaluation, which can be
/// run any number of times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/estimator/model_fn.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileWriter;
class HookServices;

/// The values of all metrics by name, of `loss` (float32), and of `global_step` (int64).
using EvalMetrics = std::map<std::string, Tensor, std::less<>>;

namespace detail {

/// The configuration of an estimator.
struct ModelSource {
  std::function<OwnedSession(Graph&)> engine;
  ModelFn model_fn;
  RunConfig config;

  [[nodiscard]] TRAINHOOK_DECL FileSystem& file_system() const;

  /// The checkpoint to start from: `wanted`, or else the model's newest; empty, with a log line, if there is none.
  [[nodiscard]] TRAINHOOK_DECL CheckpointSource checkpoint_for(const CheckpointSource& wanted,
                                                               std::string_view purpose) const;
};

/// A graph with its global step, the input and the model. Owns the graph, at a stable address.
struct BuiltModel {
  std::unique_ptr<Graph> graph;
  EstimatorSpec spec;

  /// @throws InvalidArgumentError if the model lacks what `mode` needs.
  TRAINHOOK_DECL BuiltModel(const ModelSource& source, const InputFn& input_fn, ModeKeys mode);
};

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
