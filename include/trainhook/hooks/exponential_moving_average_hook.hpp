// SPDX-License-Identifier: Apache-2.0
/// @file
/// ExponentialMovingAverageHook: averages of variables over the steps, to evaluate with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Keeps `average = decay * average + (1 - decay) * value` for float and double variables of a session, after each
/// step. Averages start from the values that the session starts with, and are state: a run that is killed and goes on
/// has the same ones. Made for plain loops, whose variables are memory of yours; works on graphs too, whose own way is
/// ExponentialMovingAverage. Costs a copy of the variables at each step. Source: `tf.train.ExponentialMovingAverage`.
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
    bool warm_up = false;  ///< after n steps the decay is at most `(1 + n) / (10 + n)`, so early averages follow faster
    std::vector<std::string> variables{};  ///< names; empty: all trainable ones
  };

  /// Puts the values of training back when it is destroyed.
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

  ExponentialMovingAverageHook() : ExponentialMovingAverageHook(Options{}) {}
  /// @throws InvalidArgumentError unless `decay` is at least 0 and below 1.
  TRAINHOOK_DECL explicit ExponentialMovingAverageHook(Options options);
  TRAINHOOK_DECL ExponentialMovingAverageHook(ExponentialMovingAverageHook&& other) noexcept;
  ExponentialMovingAverageHook& operator=(ExponentialMovingAverageHook&&) = delete;
  TRAINHOOK_DECL ~ExponentialMovingAverageHook() override;

  /// The averages, by the names of the variables; there once the session is created.
  [[nodiscard]] const std::vector<NamedTensor>& averages() const noexcept { return averages_; }

  /// Gives the session's variables their averages, until the result is destroyed. Call it in a callback of a hook, not
  /// in a step. What is saved or trained meanwhile is the averages.
  /// @throws FailedPreconditionError before the session is created and after its end.
  [[nodiscard]] TRAINHOOK_DECL Swapped use_averages() const;

  /// @throws InvalidArgumentError for a variable that is not float or double or does not exist, or if there is none.
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  Options options_;
  std::vector<std::string> names_;
  SessionRef session_;
  std::vector<NamedTensor> averages_;
  std::int64_t updates_ = 0;
  bool restored_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/exponential_moving_average_hook.ipp>
#endif
