// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointInputPipelineHook: keeps the positions of input pipelines along with the model's checkpoints.
#pragma once

#include <memory>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/external_state_policy.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

namespace detail {
struct CheckpointClaim;
class InputCheckpoints;
}  // namespace detail

/// Saves the positions of all iterators of the graph with every checkpoint of the model, in separate files
/// `input.ckpt-<step>`, which are committed before the model's files of that step. At the first run, after all
/// initializers, the iterators continue from the step that the model was restored at.
///
/// A model checkpoint without an input file of its step, because it was saved without this hook, is whole: the input
/// goes on from its newest file of an earlier step, or else from the beginning, with a warning. If the input file of a
/// step is damaged, the model is restored from an older checkpoint; if it cannot be read, the restore fails. A save
/// deletes the input files that restoring none of the remaining models would use. Source: TensorFlow's
/// `CheckpointInputPipelineHook`, which has its own periods and restores its newest file whatever the model's step is.
class CheckpointInputPipelineHook final : public SessionRunHook {
 public:
  struct Options {
    std::string checkpoint_dir{};  ///< where the model is saved; empty: the directory of the only saver hook
    ExternalStatePolicy external_state_policy =
        ExternalStatePolicy::Fail;  ///< for pipelines with state that no checkpoint can hold
    std::string checkpoint_basename = "input.ckpt";
    std::string latest_filename = "checkpoint_input";  ///< the state file
  };

  CheckpointInputPipelineHook() : CheckpointInputPipelineHook(Options{}) {}
  /// @throws InvalidArgumentError for names that are no file names.
  TRAINHOOK_DECL explicit CheckpointInputPipelineHook(Options options);
  TRAINHOOK_DECL CheckpointInputPipelineHook(CheckpointInputPipelineHook&& other) noexcept;
  CheckpointInputPipelineHook& operator=(CheckpointInputPipelineHook&&) = delete;
  TRAINHOOK_DECL ~CheckpointInputPipelineHook() override;

  /// @throws InvalidArgumentError if the graph has no iterator, FailedPreconditionError if an iterator has state that
  /// the policy does not allow.
  TRAINHOOK_DECL void begin(Graph& graph) override;

  /// @throws FailedPreconditionError if no hook of the session saves the model into the directory.
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;

  /// Restores the input at the first run. @throws NotFoundError, which lists what there is, if the file has no position
  /// of an iterator.
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;

  /// The saver hook keeps the files for the model's last save.
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  TRAINHOOK_DECL static void check_name(std::string_view option, const std::string& name);
  TRAINHOOK_DECL void check_iterators(const Graph& graph) const;
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<detail::CheckpointClaim> find_claim(const Graph& graph) const;

  Options options_;
  std::shared_ptr<detail::InputCheckpoints> files_;
  bool restore_pending_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/checkpoint_input_pipeline_hook.ipp>
#endif
