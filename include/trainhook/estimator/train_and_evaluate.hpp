// SPDX-License-Identifier: Apache-2.0
/// @file
/// train_and_evaluate: trains a model and evaluates its checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/estimator/estimator.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/metric_watch.hpp>
#include <trainhook/hooks/saving/best_checkpoint_options.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Source: TensorFlow's `TrainSpec`.
struct TrainSpec {
  InputFn input_fn;
  std::optional<std::int64_t> max_steps{};  ///< the global step at which training ends; none: the end of the input
  HookList hooks{};
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners{};
};

/// Keeps the best checkpoints of all evaluations in `<model_dir>/export/<name>`, as a BestCheckpointHook does; the
/// newest one in the state file is the best. Source: TensorFlow's `BestExporter`, which exports SavedModels, as its
/// other exporters do.
struct BestExporter {
  std::string name = "best_exporter";
  std::string metric = "loss";  ///< a metric of the evaluation
  Better better = Better::Lower;
  int exports_to_keep = 5;
  std::function<void(const BestCheckpoint&)> on_best{};  ///< as `BestCheckpointOptions::on_best`: a SafetensorsExporter
};

/// Keeps the last evaluated checkpoints, by their global step, in the same way. Source: TensorFlow's `LatestExporter`.
struct LatestExporter {
  std::string name{};
  std::optional<int> exports_to_keep = 5;                ///< none: all
  std::function<void(const BestCheckpoint&)> on_best{};  ///< called with each one
};

/// Keeps the checkpoint of `TrainSpec::max_steps`, at which training ends; without max_steps, none. If training later
/// continues to another step, it keeps that checkpoint too. Source: TensorFlow's `FinalExporter`.
struct FinalExporter {
  std::string name{};
  std::function<void(const BestCheckpoint&)> on_best{};  ///< called with it
};

/// `{th::BestExporter{.metric = "error"}, th::LatestExporter{.name = "latest"}, th::FinalExporter{.name = "final"}}`
using Exporter = std::variant<BestExporter, LatestExporter, FinalExporter>;

/// Source: TensorFlow's `EvalSpec`.
struct EvalSpec {
  InputFn input_fn;
  std::optional<std::int64_t> steps = 100;  ///< batches; none: until the input ends
  std::string name{};                       ///< events go to `eval_<name>`, or to `eval`
  HookList hooks{};
  std::vector<Exporter> exporters{};
  Duration throttle_secs = std::chrono::seconds(600);  ///< the least time between two evaluations
};

/// Trains, and evaluates each checkpoint when it is saved, except at step 0 and within `throttle_secs` of the last
/// evaluation; the last one always. Training waits meanwhile. Returns the metrics of the last evaluation;
/// nothing if there was none. A signal that a SignalHook gets ends training as in `Estimator::train`, without an
/// evaluation. Training hooks see the metrics as `eval/loss` and so on, or `<name>/loss`, and do not count the
/// evaluation at the end. A saver hook replaces the estimator's own. Source: TensorFlow's `train_and_evaluate` on one
/// machine.
/// @throws CancelledError if an earlier run of the process was interrupted and there is a SignalHook,
/// InvalidArgumentError for a negative throttle_secs, or exporters that have no unique name or keep no checkpoint.
TRAINHOOK_DECL std::optional<EvalMetrics> train_and_evaluate(Estimator& estimator, const TrainSpec& train_spec,
                                                             const EvalSpec& eval_spec);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/train_and_evaluate.ipp>
#endif
