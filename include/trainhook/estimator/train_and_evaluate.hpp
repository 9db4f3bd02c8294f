// SPDX-License-Identifier: Apache-2.0
/// @file
/// train_and_evaluate: trains a model and evaluates its checkpoints in turns.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/estimator/estimator.hpp>
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

/// Source: TensorFlow's `EvalSpec`.
struct EvalSpec {
  InputFn input_fn;
  std::optional<std::int64_t> steps = 100;  ///< batches; without a value, until the input ends
  std::string name{};                       ///< events go to `eval_<name>`, or to `eval`
  HookList hooks{};
  Duration throttle_secs = std::chrono::seconds(600);  ///< the time between two evaluations, at least
};

/// Trains, and evaluates each checkpoint as it is saved, but those of step 0 and those within `throttle_secs` of the
/// last evaluation; the last checkpoint always. Training waits meanwhile. Returns the metrics of the last evaluation;
/// nothing if training was over already. Source: TensorFlow's `train_and_evaluate` on one machine.
TRAINHOOK_DECL std::optional<EvalMetrics> train_and_evaluate(Estimator& estimator, const TrainSpec& train_spec,
                                                             const EvalSpec& eval_spec);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/train_and_evaluate.ipp>
#endif
