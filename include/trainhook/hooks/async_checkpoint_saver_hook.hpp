// SPDX-License-Identifier: Apache-2.0
/// @file
/// AsyncCheckpointSaverHook: saves checkpoints without holding up the loop.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/checkpoint/background_writer.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// What happens when a save falls due while the one before is still being written.
enum class SaveOverlap {
  Skip,     ///< it is left out; the next step asks again, so that it is made as soon as the writer is free
  Wait,     ///< the loop waits until the writer is free
  Replace,  ///< it is taken now and written next, in place of one that waits already
};

/// A CheckpointSaverHook that takes the state on the loop's thread, at one point in time, and writes it on another
/// thread. Listeners are still called on the loop's thread: `before_save` when the state is taken, `after_save` in the
/// first hook call after the commit. What fails in the background fails the run, or the end, that learns of it; a step
/// counts as saved when it is committed. The end waits for the writer, then saves the last step if it is not saved yet;
/// so does a recovery, without the last save. Source: TensorFlow's `AsyncCheckpointSaverHook`, which takes no snapshot.
class AsyncCheckpointSaverHook final : public CheckpointSaverHook {
 public:
  /// As those of CheckpointSaverHook, and `overlap`.
  struct Options {
    std::string checkpoint_dir{};
    std::optional<Duration> save_secs{};
    std::optional<std::int64_t> save_steps{};
    std::shared_ptr<Saver> saver{};
    std::string checkpoint_basename = "model.ckpt";
    std::shared_ptr<const Scaffold> scaffold{};
    std::vector<std::shared_ptr<CheckpointSaverListener>> listeners{};
    bool save_graph_def = true;
    bool align_steps = false;
    int tolerated_save_failures = 0;
    SaveOverlap overlap = SaveOverlap::Skip;
  };

  /// @throws InvalidArgumentError as CheckpointSaverHook.
  TRAINHOOK_DECL explicit AsyncCheckpointSaverHook(Options options);

  /// Waits until nothing is being written; the loop learns of it in the next hook call.
  void wait_until_written() {
    if (writer_ != nullptr) writer_->wait();
  }

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  /// A recovery that follows is to find what is being written.
  void on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) override { writer_->wait(); }

  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 protected:
  void announce(SessionRef session, std::int64_t step) override {
    log_saving(step);
    tell_before_save(session, step);
  }

  TRAINHOOK_DECL bool save(SessionRef session, std::int64_t step) override;

 private:
  static std::string describe_error(const std::exception_ptr& error) noexcept { return trainhook::describe(error); }

  TRAINHOOK_DECL bool may_overlap(std::int64_t step);
  TRAINHOOK_DECL void tell_replaced(SessionRef session, std::int64_t step, std::int64_t by);

  // True where a listener asks to stop. All outcomes are told before the first failure is thrown.
  TRAINHOOK_DECL bool take_outcomes(SessionRef session);

  SaveOverlap overlap_;
  bool skipping_ = false;
  std::unique_ptr<BackgroundWriter> writer_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/async_checkpoint_saver_hook.ipp>
#endif
