// SPDX-License-Identifier: Apache-2.0
/// @file
/// LearningRateWarmUpHook: raises the learning rate in the first steps of training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Raises the learning rate linearly during the first `steps` steps of a model, up to the variable's initial value:
/// step `n` uses `start + (1 - start) * n / steps` of it. Useful for large batches and Adam. The rate is a variable of
/// the session, by name, as for ReduceLearningRateOnPlateauHook, which may take over afterwards; during the warm-up
/// this hook overwrites the variable. The target value is part of the checkpoint, so a resumed run has the same rates.
/// Source: Goyal et al., "Accurate, Large Minibatch SGD", 2017, and Horovod's `LearningRateWarmupCallback`.
///
///     loop.variable("learning_rate", rate);
///     .hooks = {th::LearningRateWarmUpHook({.steps = 500})}
class LearningRateWarmUpHook final : public SessionRunHook {
 public:
  struct Options {
    std::int64_t steps = 0;                       ///< the length of the warm-up; required
    double start = 0;                             ///< the fraction of the rate at the start
    std::string learning_rate = "learning_rate";  ///< the name of a variable, a float or double scalar
    std::string name{};                           ///< of its state in checkpoints; empty: from the variable
  };

  /// @throws InvalidArgumentError unless `steps` is positive, and `start` at least 0 and below 1.
  TRAINHOOK_DECL explicit LearningRateWarmUpHook(Options options);
  TRAINHOOK_DECL LearningRateWarmUpHook(LearningRateWarmUpHook&& other) noexcept;
  TRAINHOOK_DECL ~LearningRateWarmUpHook() override;

  [[nodiscard]] bool writes_variables() const override { return true; }
  TRAINHOOK_DECL void begin(Graph& graph) override;
  /// @throws NotFoundError if the session has no such variable, InvalidArgumentError if it is not float or double.
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  // Sets the rate of the step after `step`.
  TRAINHOOK_DECL void raise(SessionRef session, std::int64_t step);

  Options options_;
  Variable global_step_;
  DType dtype_ = DType::Invalid;  // of the rate
  std::optional<double> whole_;   // the target rate
  bool is_over_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/learning_rate_warm_up_hook.ipp>
#endif
