// SPDX-License-Identifier: Apache-2.0
/// @file
/// BestCheckpointHook: keeps the checkpoints at which a metric was best.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/saving/best_checkpoint_options.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

namespace detail {
class BestCheckpoints;
}

/// Saves the model when a published metric, such as an EvaluationHook's `eval/loss`, is among the best `keep` values,
/// and removes the checkpoint that no longer is. These are complete checkpoints; `latest_checkpoint(directory)`, here
/// and in TensorFlow, returns the best. Each contains its value, so the directory is the list;
/// remove it to start over. Of equal values the earlier step wins; NaN is never saved. Saves on the loop's thread; in a
/// job, the chief's state only.
///
///     .hooks = {th::EvaluationHook(evaluate, {.every_n_steps = 500}),
///               th::BestCheckpointHook({.metric = "eval/accuracy", .better = th::Better::Higher, .keep = 2})}
///
/// A value counts if it is published for the model's current step: before the next run or, at the end, by a hook of an
/// earlier phase.
class BestCheckpointHook final : public SessionRunHook {
 public:
  using Options = BestCheckpointOptions;

  explicit BestCheckpointHook(detail::NoOptions = {}) : BestCheckpointHook(Options{}) {}
  /// @throws InvalidArgumentError if `keep` is below 1 or `metric` is empty.
  TRAINHOOK_DECL explicit BestCheckpointHook(Options options);
  TRAINHOOK_DECL BestCheckpointHook(BestCheckpointHook&& other) noexcept;
  TRAINHOOK_DECL ~BestCheckpointHook() override;

  /// The kept checkpoints, best first; available once the session is created.
  [[nodiscard]] const std::vector<BestCheckpoint>& best() const noexcept { return best_; }

  /// Runs after the hooks that publish metrics or change the model.
  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Save; }
  [[nodiscard]] std::string writes_to() const override {
    return options_.directory.empty() ? "best" : options_.directory;
  }
  TRAINHOOK_DECL void begin(Graph& graph) override;

  /// @throws FailedPreconditionError if there is no directory, if it is not clear which hook saves the model, or if
  /// another session or hook saves into the directory.
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  /// Also logs a warning if the metric was never published.
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  [[nodiscard]] TRAINHOOK_DECL const PublishedMetric* news() const;
  TRAINHOOK_DECL void consider(SessionRef session, std::int64_t step, const PublishedMetric& metric);

  Options options_;
  Variable global_step_;
  std::unique_ptr<detail::BestCheckpoints> folder_;
  std::vector<BestCheckpoint> best_;
  std::optional<std::int64_t> seen_;  // the step of the last value
  bool has_run_ = false;              // since the session was created
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/best_checkpoint_hook.ipp>
#endif
