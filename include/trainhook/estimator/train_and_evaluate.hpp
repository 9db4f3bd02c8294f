// SPDX-License-Identifier: Apache-2.0
/// @file
/// train_and_evaluate: trains a model and evaluates its checkpoints in turns.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/estimator/estimator.hpp>
#include <trainhook/hooks/better.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Source: TensorFlow's `TrainSpec`.
struct TrainSpec {
  InputFn input_fn;
  std::optional<std::int64_t> max_steps{};  ///< the global step at which training is over; without one, the input's end
  HookList hooks{};
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners{};
};

/// Keeps the best checkpoints of all evaluations in `<model_dir>/export/<name>`, as a BestCheckpointHook does: whole
/// checkpoints, of which the newest in the state file is the best one. Source: TensorFlow's `BestExporter`, which
/// exports SavedModels, as its other exporters do.
struct BestExporter {
  std::string name = "best_exporter";
  std::string metric = "loss";  ///< one that the evaluation returns
  Better better = Better::Lower;
  int exports_to_keep = 5;
};

/// Keeps the latest checkpoints that were evaluated, by their global step, in the same way. Source: TensorFlow's
/// `LatestExporter`.
struct LatestExporter {
  std::string name{};
  std::optional<int> exports_to_keep = 5;  ///< without a value, all
};

/// Keeps the checkpoint at which training is over: that of `TrainSpec::max_steps`. Without max_steps there is none. If
/// training goes on to a later step, it keeps that checkpoint, too. Source: TensorFlow's `FinalExporter`.
struct FinalExporter {
  std::string name{};
};

/// `{th::BestExporter{.metric = "error"}, th::LatestExporter{.name = "latest"}, th::FinalExporter{.name = "final"}}`
using Exporter = std::variant<BestExporter, LatestExporter, FinalExporter>;

/// Source: TensorFlow's `EvalSpec`.
struct EvalSpec {
  InputFn input_fn;
  std::optional<std::int64_t> steps = 100;  ///< batches; without a value, until the input ends
  std::string name{};                       ///< events go to `eval_<name>`, or to `eval`
  HookList hooks{};
  std::vector<Exporter> exporters{};
  Duration throttle_secs = std::chrono::seconds(600);  ///< the time between two evaluations, at least
};

/// Trains, and evaluates each checkpoint as it is saved, but those of step 0 and those within `throttle_secs` of the
/// last evaluation; the last checkpoint always. Without throttle each checkpoint is evaluated, even if a kill comes in
/// between; with one, the clock decides. Training waits meanwhile. Returns the metrics of the last evaluation;
/// nothing if training was over already. Hooks of the training, such as an EarlyStoppingHook, see the metrics of each
/// evaluation as `eval/loss` and so on, or `<name>/loss`. Source: TensorFlow's `train_and_evaluate` on one machine.
/// @throws InvalidArgumentError for a negative throttle_secs, or exporters that have no name of their own or keep none.
TRAINHOOK_DECL std::optional<EvalMetrics> train_and_evaluate(Estimator& estimator, const TrainSpec& train_spec,
                                                             const EvalSpec& eval_spec);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/train_and_evaluate.ipp>
#endif
