// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointInputPipelineHook: keeps the positions of input pipelines along with the model's checkpoints.
#pragma once

#include <memory>
#include <string>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/input_checkpoints.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/data/external_state_policy.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Saves the state of all iterators of the graph whenever the hook that saves the model does, into files of its own,
/// `input.ckpt-<step>`, which are committed before the model's of the same step and removed with them. A model is
/// restored only from a checkpoint whose input state is there and whole, and at the first run of each session, when
/// initializers have had their turn, the iterators go where they were at that step; where the model was trained without
/// this hook until then, they start anew, with a warning. Source: TensorFlow's `CheckpointInputPipelineHook`, which has
/// periods of its own and restores its newest file whatever the model's step.
class CheckpointInputPipelineHook final : public SessionRunHook {
 public:
  struct Options {
    std::string checkpoint_dir{};  ///< where the model is saved; empty: where the session's only saver hook saves
    ExternalStatePolicy external_state_policy =
        ExternalStatePolicy::Fail;  ///< for pipelines with state that no checkpoint can hold
    std::string checkpoint_basename = "input.ckpt";
    std::string latest_filename = "checkpoint_input";  ///< the state file
  };

  CheckpointInputPipelineHook() : CheckpointInputPipelineHook(Options{}) {}
  /// @throws InvalidArgumentError for names that are no file names.
  TRAINHOOK_DECL explicit CheckpointInputPipelineHook(Options options);

  /// @throws InvalidArgumentError where the graph has no iterator, FailedPreconditionError where one has state that the
  /// policy does not allow.
  TRAINHOOK_DECL void begin(Graph& graph) override;

  /// @throws FailedPreconditionError where no hook of the session saves the model into the directory.
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override;

  /// @throws FailedPreconditionError where the model was restored from a checkpoint without input state, and an earlier
  /// one has it.
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;

  /// The model's last save is still to come: its hook holds the files until then.
  void end(SessionRef /*session*/) override { files_.reset(); }
  void abort(const std::exception_ptr& /*error*/) noexcept override { files_.reset(); }

 private:
  TRAINHOOK_DECL static void check_name(std::string_view option, const std::string& name);
  TRAINHOOK_DECL void check_iterators(const Graph& graph) const;
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<CheckpointClaim> find_claim(const Graph& graph) const;

  Options options_;
  std::shared_ptr<InputCheckpoints> files_;
  bool restore_pending_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/checkpoint_input_pipeline_hook.ipp>
#endif
