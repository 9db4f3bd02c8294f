// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointInputPipelineHook: saves the positions of input pipelines with the model's checkpoints.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/saved_input.hpp>
#include <trainhook/hooks/saving/checkpoint_saver_options.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

namespace detail {
struct CheckpointClaim;
class InputCheckpoints;
}  // namespace detail

/// Saves the positions of all iterators of the graph with every checkpoint of the model, in separate files
/// `input.ckpt-<step>`, which are committed before the model's files of that step. At the first run, after all
/// initializers, or before the hooks' `end` if there is no run, the iterators continue from the step at which the model
/// was restored. The guide, in "Input", says what happens without such a file, and with several processes.
///
/// In a session that saves no model, the hook saves at its own period and at the end, and continues from its newest
/// file, whatever the step is. Source: TensorFlow's `CheckpointInputPipelineHook`, which always does that.
class CheckpointInputPipelineHook final : public SessionRunHook {
 public:
  struct Options {
    std::string checkpoint_dir{};  ///< the model's directory; empty: that of the only saver hook
    ExternalStatePolicy external_state_policy =
        ExternalStatePolicy::Fail;  ///< for pipelines with state that no checkpoint can contain
    std::string checkpoint_basename = "input.ckpt";
    std::string latest_filename = "checkpoint_input";  ///< the state file
    OptionalDuration save_secs{};  ///< if no hook saves the model: set one of the two periods, which is ignored, with a
                                   ///< warning, if one does
    std::optional<std::int64_t> save_steps{};
    DirectoryLock directory_lock = DirectoryLock::Auto;  ///< also then: locks `checkpoint_dir`
  };

  explicit CheckpointInputPipelineHook(detail::NoOptions = {}) : CheckpointInputPipelineHook(Options{}) {}
  /// @throws InvalidArgumentError for names that are not file names, or a period that is not positive.
  TRAINHOOK_DECL explicit CheckpointInputPipelineHook(Options options);
  /// Saves with the checkpoints of an Estimator. If several tasks train, each has its own files,
  /// `input_<task type>_<task id>.ckpt-<step>`.
  template <std::convertible_to<detail::CheckpointTarget> Estimator>
  explicit CheckpointInputPipelineHook(const Estimator& estimator,
                                       ExternalStatePolicy external_state_policy = ExternalStatePolicy::Fail)
      : CheckpointInputPipelineHook(options_for(estimator, external_state_policy)) {
    has_own_period_ = false;
  }
  TRAINHOOK_DECL CheckpointInputPipelineHook(CheckpointInputPipelineHook&& other) noexcept;
  TRAINHOOK_DECL ~CheckpointInputPipelineHook() override;

  /// @throws InvalidArgumentError if the graph has no iterator, FailedPreconditionError if an iterator has external
  /// state that the policy does not allow.
  TRAINHOOK_DECL void begin(Graph& graph) override;

  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// @throws FailedPreconditionError if no hook of the session saves the model into the directory and this one has no
  /// period or directory, or is one of a job.
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;

  /// Restores the input at the first run; `run_step_fn` restores it before it calls the step function. @throws
  /// NotFoundError, which lists the file's positions, if the position of an iterator is missing, or if the model's
  /// checkpoint is gone since the session was restored from it; FailedPreconditionError if another number of processes
  /// saved positions that differ.
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  /// Saves the last position; with a saver hook, that hook saves it with the model.
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  [[nodiscard]] TRAINHOOK_DECL static Options options_for(const detail::CheckpointTarget& target,
                                                          ExternalStatePolicy policy);
  TRAINHOOK_DECL void check_iterators(const Graph& graph) const;
  // The claim of the saver hook to join; null if there is none and this hook saves by itself.
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<detail::CheckpointClaim> find_claim(const Graph& graph) const;

  TRAINHOOK_DECL void restore(SessionRef session, std::int64_t step);
  TRAINHOOK_DECL void save(SessionRef session, std::int64_t step);

  Options options_;
  std::shared_ptr<detail::InputCheckpoints> files_;
  std::optional<SecondOrStepTimer> timer_;  // used only if no hook saves the model
  std::optional<std::int64_t> saved_;       // the same: the step that was saved last
  bool restore_pending_ = false;
  bool has_own_period_ = false;  // given by the user, not by an Estimator
  bool is_following_ = false;    // a hook that saves the model, in this session
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/checkpoint_input_pipeline_hook.ipp>
#endif
