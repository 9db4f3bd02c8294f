// SPDX-License-Identifier: Apache-2.0
/// @file
/// InMemoryEvaluatorHook: evaluates an estimator's model during training, without a checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/estimator/estimator.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Evaluates the model at the start, every `every_n_iter` runs, and at the end: it copies the current variables to an
/// evaluation graph in the same process, while training waits. It writes the metrics to `eval_dir(name)` and publishes
/// them as `eval/loss` and so on for hooks such as EarlyStoppingHook. Training that resumes from a checkpoint continues
/// to count its runs. A run that a signal ends is not evaluated at its end, and hooks that count evaluations count no
/// other one at the end either. Without an estimator, use EvaluationHook. Source: TensorFlow's `InMemoryEvaluatorHook`,
/// which counts from zero and evaluates again at the end and whenever the session is created.
class InMemoryEvaluatorHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> steps{};  ///< batches; none: until the input ends
    HookList hooks{};                     ///< of each evaluation
    std::string name{};  ///< events go to `eval_<name>`, or to `eval`; also of its state in checkpoints
    std::int64_t every_n_iter = 100;
  };

  /// Keeps a copy of the estimator. @throws InvalidArgumentError for an `every_n_iter` that is not positive, or an
  /// estimator with several workers.
  TRAINHOOK_DECL InMemoryEvaluatorHook(Estimator estimator, InputFn input_fn, Options options);
  TRAINHOOK_DECL InMemoryEvaluatorHook(InMemoryEvaluatorHook&& other) noexcept;
  TRAINHOOK_DECL ~InMemoryEvaluatorHook() override;

  /// Builds the evaluation graph. @throws InvalidArgumentError if its scaffold has a saver or an init_fn, because the
  /// values come from training.
  TRAINHOOK_DECL void begin(Graph& graph) override;

  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void end(SessionRef session) override;

  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  TRAINHOOK_DECL void evaluate(SessionRef session, std::int64_t step, bool is_extra = false);

  std::unique_ptr<const Estimator> estimator_;  // keeps its address when the hook moves
  InputFn input_fn_;
  Options options_;
  std::unique_ptr<detail::EvaluationGraph> evaluation_;
  Variable global_step_;
  std::int64_t iterations_ = 0;
  std::optional<std::int64_t> evaluated_;  // the last evaluated step
  bool restored_ = false;
  bool starts_ = false;  // nothing was evaluated in this session yet
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/in_memory_evaluator_hook.ipp>
#endif
