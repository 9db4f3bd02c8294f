// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointInputPipelineHook: keeps the positions of input pipelines along with the model's checkpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/checkpoint/iterator_saveable.hpp>
#include <trainhook/hooks/input_checkpoints.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Saves the state of all iterators of the graph whenever the hook that saves the model does, into files of its own, `input.ckpt-<step>`,
/// which are committed before the model's of the same step and removed with them. A model is restored only from a checkpoint whose input
/// state is there and whole, and at the first run of each session, when initializers have had their turn, the iterators go where they were
/// at that step; where the model was trained without this hook until then, they start anew, with a warning. Source: TensorFlow's
/// `CheckpointInputPipelineHook`, which has periods of its own and restores its newest file whatever the model's step.
class CheckpointInputPipelineHook final : public SessionRunHook {
 public:
  struct Options {
    std::string checkpoint_dir{};  ///< where the model is saved; empty: where the session's only saver hook saves
    ExternalStatePolicy external_state_policy = ExternalStatePolicy::Fail;  ///< for pipelines with state that no checkpoint can hold
    std::string checkpoint_basename = "input.ckpt";
    std::string latest_filename = "checkpoint_input";  ///< the state file
  };

  CheckpointInputPipelineHook() : CheckpointInputPipelineHook(Options{}) {}
  /// @throws InvalidArgumentError for names that are no file names.
  explicit CheckpointInputPipelineHook(Options options) : options_(std::move(options)) {
    check_name("checkpoint_basename", options_.checkpoint_basename);
    check_name("latest_filename", options_.latest_filename);
    if (options_.checkpoint_basename == options_.latest_filename) {
      throw InvalidArgumentError("CheckpointInputPipelineHook: checkpoint_basename and latest_filename are both '",
                                 options_.latest_filename, "'");
    }
  }

  /// @throws InvalidArgumentError where the graph has no iterator, FailedPreconditionError where one has state that the policy does not
  /// allow.
  void begin(Graph& graph) override {
    detail::require_global_step(graph, "CheckpointInputPipelineHook");
    check_iterators(graph);
    files_ = std::make_shared<InputCheckpoints>(environment().file_system(), options_.checkpoint_basename, options_.latest_filename);
    graph.add_to_collection(kExternalStatePolicies, options_.external_state_policy);
    graph.add_to_collection(kRestoreConditions, InputCheckpoints::restore_condition(files_));
  }

  /// @throws FailedPreconditionError where no hook of the session saves the model into the directory.
  void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override {
    files_->follow(find_claim(session.graph()));
    restore_pending_ = true;
  }

  /// @throws FailedPreconditionError where the model was restored from a checkpoint without input state, and an earlier one has it.
  SessionRunArgs before_run(SessionRunContext& context) override {
    if (restore_pending_) {
      files_->restore(context.session(), context.global_step(), environment().restored_from());
      restore_pending_ = false;
    }
    return {};
  }

  /// The model's last save is still to come: its hook holds the files until then.
  void end(SessionRef /*session*/) override { files_.reset(); }
  void abort(const std::exception_ptr& /*error*/) noexcept override { files_.reset(); }

 private:
  static void check_name(std::string_view option, const std::string& name) {
    if (!name.empty() && name.find('/') == std::string::npos) return;
    throw InvalidArgumentError("CheckpointInputPipelineHook: ", option, " is '", name, "'; it must be a file name without directory");
  }

  void check_iterators(const Graph& graph) const {
    const std::vector<IteratorResource> all = iterators(graph);
    if (all.empty()) {
      throw InvalidArgumentError(
          "CheckpointInputPipelineHook: the graph has no iterator, so there is nothing to save; make one with make_iterator(), or leave "
          "the hook out");
    }
    for (const IteratorResource& iterator : all) {
      detail::check_external_state(iterator, options_.external_state_policy, "CheckpointInputPipelineHook");
    }
  }

  [[nodiscard]] std::shared_ptr<CheckpointClaim> find_claim(const Graph& graph) const {
    const auto claims = checkpoint_claims(graph);
    std::shared_ptr<CheckpointClaim> found;
    for (const auto& claim : claims) {
      if (!options_.checkpoint_dir.empty() && detail::plain_path(claim->directory) != detail::plain_path(options_.checkpoint_dir)) continue;
      if (found != nullptr) {
        throw FailedPreconditionError(
            "CheckpointInputPipelineHook: several hooks save checkpoints; give the checkpoint_dir of the one to go with");
      }
      found = claim;
    }
    if (found != nullptr) return found;
    const std::string where = options_.checkpoint_dir.empty() ? std::string() : str_cat(" into '", options_.checkpoint_dir, "'");
    throw FailedPreconditionError(
        "CheckpointInputPipelineHook: no hook of this session saves the model", where,
        "; add a CheckpointSaverHook or AsyncCheckpointSaverHook, or let the session make one by save_checkpoint_steps");
  }

  Options options_;
  std::shared_ptr<InputCheckpoints> files_;
  bool restore_pending_ = false;
};

}  // namespace trainhook
