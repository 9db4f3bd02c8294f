// SPDX-License-Identifier: Apache-2.0
/// @file
/// ReduceLearningRateOnPlateauHook: lowers the learning rate when a metric no longer improves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/metric_watch.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Multiplies the learning rate by `factor` when a published metric, such as an EvaluationHook's `eval/loss`, has not
/// improved `patience` times in a row. The rate is a variable of the session, by name: one that the graph's optimizer
/// reads, or memory registered with a LoopSession. The checkpoint contains it and the state of this hook, so a resumed
/// run has the same rates. NaN is never better. List the hook after the hook that publishes the metric; in a job of
/// several ranks, all ranks must have both. For rates that depend only on the step, see
/// model/learning_rate_schedules.hpp and LearningRateWarmUpHook. Source: Keras' `ReduceLROnPlateau`, with its defaults.
///
///     loop.variable("learning_rate", rate);
///     .hooks = {th::EvaluationHook(evaluate, {.every_n_steps = 500}),
///               th::ReduceLearningRateOnPlateauHook({.metric = "eval/loss", .patience = 3})}
class ReduceLearningRateOnPlateauHook final : public SessionRunHook {
 public:
  struct Options {
    std::string metric = "eval/loss";
    Better better = Better::Lower;
    std::string learning_rate = "learning_rate";  ///< the name of a variable, a float or double scalar
    double factor = 0.1;
    int patience = 10;             ///< lowers the rate after this many values in a row without an improvement
    double min_delta = 1e-4;       ///< an improvement must be larger than this
    int cooldown = 0;              ///< the number of values after a reduction that are not counted
    double min_learning_rate = 0;  ///< the lower limit of the rate
    std::string name{};            ///< of its state in checkpoints; empty: from metric, `better` and the rate's name
  };

  explicit ReduceLearningRateOnPlateauHook(detail::NoOptions = {}) : ReduceLearningRateOnPlateauHook(Options{}) {}
  /// @throws InvalidArgumentError unless `factor` is above 0 and below 1, `patience` at least 1, and `min_delta`,
  /// `cooldown` and `min_learning_rate` at least 0.
  TRAINHOOK_DECL explicit ReduceLearningRateOnPlateauHook(Options options);
  TRAINHOOK_DECL ReduceLearningRateOnPlateauHook(ReduceLearningRateOnPlateauHook&& other) noexcept;
  TRAINHOOK_DECL ~ReduceLearningRateOnPlateauHook() override;

  /// The best value so far; nothing before the first.
  [[nodiscard]] std::optional<double> best() const noexcept { return watch_.best(); }

  [[nodiscard]] bool writes_variables() const override { return true; }
  TRAINHOOK_DECL void begin(Graph& graph) override;

  /// @throws NotFoundError if the session has no such variable, InvalidArgumentError if it is not float or double.
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  /// Logs a warning if the metric was never published.
  TRAINHOOK_DECL void end(SessionRef session) override;

  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  TRAINHOOK_DECL void reduce(SessionRef session, std::int64_t step);

  Options options_;
  detail::MetricWatch watch_;
  DType dtype_ = DType::Invalid;  // of the rate
  std::int64_t cooldown_ = 0;     // remaining values that are not counted
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/reduce_learning_rate_on_plateau_hook.ipp>
#endif
