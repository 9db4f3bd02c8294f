// SPDX-License-Identifier: Apache-2.0
/// @file
/// ExponentialMovingAverageHook: moving averages of variables, for evaluation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Keeps `average = decay * average + (1 - decay) * value` for floating-point variables, after each step, from the
/// session's first values on; that of half and bfloat16 is a float. Checkpoints have the averages; RestoreRules do to
/// one what they do to its variable. One that a checkpoint lacks starts from the present value, with a warning. Copies
/// the variables at each step. For plain loops; graphs can also use ExponentialMovingAverage. Source:
/// `tf.train.ExponentialMovingAverage`.
///
///     auto ema = th::make_hook<th::ExponentialMovingAverageHook>({.decay = 0.999});
///     .hooks = {ema, th::EvaluationHook([&] {
///                 const auto swapped = ema->use_averages();                // the weights are the averages here
///                 return th::Metrics{{"loss", loss_of(weights)}};
///               }, {.every_n_steps = 100})}
class ExponentialMovingAverageHook final : public SessionRunHook {
 public:
  struct Options {
    double decay = 0.999;
    bool warm_up = false;  ///< limits the decay to `(1 + n) / (10 + n)` after n steps, so early averages adapt faster
    std::vector<std::string> variables{};  ///< names; empty: all trainable ones
    std::string name{};                    ///< of its state in checkpoints; needed if there are several such hooks
  };

  /// The destructor restores the training values.
  class Swapped {
   public:
    TRAINHOOK_DECL Swapped(SessionRef session, const std::vector<NamedTensor>& averages);
    Swapped(const Swapped&) = delete;
    Swapped& operator=(const Swapped&) = delete;
    TRAINHOOK_DECL ~Swapped();

   private:
    SessionRef session_;
    std::vector<NamedTensor> values_;
  };

  explicit ExponentialMovingAverageHook(detail::NoOptions = {}) : ExponentialMovingAverageHook(Options{}) {}
  /// @throws InvalidArgumentError unless `decay` is at least 0 and below 1.
  TRAINHOOK_DECL explicit ExponentialMovingAverageHook(Options options);
  TRAINHOOK_DECL ExponentialMovingAverageHook(ExponentialMovingAverageHook&& other) noexcept;
  TRAINHOOK_DECL ~ExponentialMovingAverageHook() override;

  /// The averages, by the names of the variables; available once the session is created. Of half and bfloat16: float.
  [[nodiscard]] const std::vector<NamedTensor>& averages() const noexcept { return averages_; }

  /// Sets the session's variables to their averages until the result is destroyed. Call it in a hook's callback, not in
  /// a step. Saving or training meanwhile uses the averages.
  /// @throws FailedPreconditionError before the session is created and after its end.
  [[nodiscard]] TRAINHOOK_DECL Swapped use_averages() const;

  /// @throws InvalidArgumentError for a variable that has no floating-point dtype or does not exist, or if there is
  /// none.
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  [[nodiscard]] std::string name() const override { return options_.name; }
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  Options options_;
  std::vector<Variable> variables_;
  std::vector<std::string> names_;
  SessionRef session_;
  std::vector<NamedTensor> averages_;
  std::int64_t updates_ = 0;
  StateValues loaded_;  // until the session is created
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/exponential_moving_average_hook.ipp>
#endif
