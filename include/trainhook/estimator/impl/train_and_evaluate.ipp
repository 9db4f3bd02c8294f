// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of train_and_evaluate.hpp.
#pragma once

#include <trainhook/estimator/train_and_evaluate.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::detail {

/// Evaluates the checkpoints that a saver has committed.
class EvaluatingListener final : public CheckpointSaverListener {
 public:
  EvaluatingListener(const Estimator& estimator, const EvalSpec& spec) : estimator_(&estimator), spec_(&spec) {}

  [[nodiscard]] std::optional<EvalMetrics> metrics() const { return metrics_; }

  bool after_save(SessionRef /*session*/, std::int64_t global_step) override {
    if (global_step == 0) return false;  // nothing is learned yet
    if (evaluated_at_ && clock().monotonic_now() - *evaluated_at_ < spec_->throttle_secs) {
      log_info("Skip the current checkpoint eval due to throttle secs ({} secs).",
               std::chrono::duration<double>(spec_->throttle_secs).count());
      return false;
    }
    evaluate(global_step);
    return false;
  }

  void end(SessionRef /*session*/, std::int64_t global_step) override {
    if (step_ != global_step) evaluate(global_step);
  }

 private:
  [[nodiscard]] Clock& clock() const {
    Clock* given = estimator_->config().clock;
    return given != nullptr ? *given : system_clock();
  }

  void evaluate(std::int64_t global_step) {
    metrics_ =
        estimator_->evaluate(spec_->input_fn, {.steps = spec_->steps, .hooks = spec_->hooks, .name = spec_->name});
    step_ = global_step;
    evaluated_at_ = clock().monotonic_now();
  }

  const Estimator* estimator_;
  const EvalSpec* spec_;
  std::optional<EvalMetrics> metrics_;
  std::optional<std::int64_t> step_;  // that was evaluated last
  std::optional<Duration> evaluated_at_;
};

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::optional<EvalMetrics> train_and_evaluate(Estimator& estimator, const TrainSpec& train_spec,
                                                             const EvalSpec& eval_spec) {
  if (eval_spec.throttle_secs < Duration::zero())
    throw InvalidArgumentError("EvalSpec: throttle_secs must not be negative");
  const auto evaluating = std::make_shared<detail::EvaluatingListener>(estimator, eval_spec);
  TrainOptions options{
      .hooks = train_spec.hooks, .max_steps = train_spec.max_steps, .saving_listeners = train_spec.saving_listeners};
  options.saving_listeners.push_back(evaluating);
  estimator.train(train_spec.input_fn, options);
  return evaluating->metrics();
}

}  // namespace trainhook
