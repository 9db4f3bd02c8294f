// SPDX-License-Identifier: Apache-2.0
/// @file
/// LearningRateWarmUpHook: raises the learning rate step by step when training begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Raises the learning rate in a straight line during the first `steps` steps of a model, up to the value that the
/// variable has at first; step `n` is made with `start + (1 - start) * n / steps` of it. Large batches and Adam need
/// that. The rate is a variable of the session, by name, as for ReduceLearningRateOnPlateauHook, which may follow:
/// until the warm-up is over, what others write to the variable is overwritten. The value to be reached is part of the
/// checkpoint, so a run that is killed and goes on has the same rates. Source: Goyal et al., "Accurate, Large Minibatch
/// SGD", 2017, and Horovod's `LearningRateWarmupCallback`.
///
///     loop.variable("learning_rate", rate);
///     .hooks = {th::LearningRateWarmUpHook({.steps = 500})}
class LearningRateWarmUpHook final : public SessionRunHook {
 public:
  struct Options {
    std::int64_t steps = 0;                       ///< how long it takes; must be given
    double start = 0;                             ///< the part of the rate that the line begins with
    std::string learning_rate = "learning_rate";  ///< the name of the variable, one float or double
  };

  /// @throws InvalidArgumentError unless `steps` is positive, and `start` at least 0 and below 1.
  TRAINHOOK_DECL explicit LearningRateWarmUpHook(Options options);
  TRAINHOOK_DECL LearningRateWarmUpHook(LearningRateWarmUpHook&& other) noexcept;
  LearningRateWarmUpHook& operator=(LearningRateWarmUpHook&&) = delete;
  TRAINHOOK_DECL ~LearningRateWarmUpHook() override;

  TRAINHOOK_DECL void begin(Graph& graph) override;
  /// @throws NotFoundError if the session has no such variable, InvalidArgumentError if it is not float or double.
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  // Sets the rate of the step after `step`.
  TRAINHOOK_DECL void raise(SessionRef session, std::int64_t step);

  Options options_;
  Variable global_step_;
  DType dtype_ = DType::Invalid;  // of the rate
  std::optional<double> whole_;   // the rate to be reached
  bool is_over_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/learning_rate_warm_up_hook.ipp>
#endif
