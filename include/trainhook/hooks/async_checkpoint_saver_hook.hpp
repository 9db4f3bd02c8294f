// SPDX-License-Identifier: Apache-2.0
/// @file
/// AsyncCheckpointSaverHook: saves checkpoints in the background.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>

namespace trainhook {

namespace detail {
class BackgroundWriter;
class Save;
}  // namespace detail

/// Saves as CheckpointSaverHook does, but takes the state on the loop's thread and writes it on another. A step counts
/// as saved, in `last_saved_step` too, when it is committed. Listeners are called on the loop's thread: `before_save`
/// when the state is taken, `after_save` in the first hook call after the commit. If a background save fails, the next
/// run, or else `end`, throws its error. `end` waits for the writer and then saves the last step if that is not saved
/// yet; a recovery waits for it, too. What other processes write a part of is committed at the end of a later step,
/// when all have finished. Source: TensorFlow's `AsyncCheckpointSaverHook`, which takes no snapshot.
class AsyncCheckpointSaverHook : public CheckpointSaverHook {
 public:
  /// @throws InvalidArgumentError as CheckpointSaverHook.
  TRAINHOOK_DECL explicit AsyncCheckpointSaverHook(Options options);
  TRAINHOOK_DECL AsyncCheckpointSaverHook(AsyncCheckpointSaverHook&& other) noexcept;
  TRAINHOOK_DECL ~AsyncCheckpointSaverHook() override;

  /// Waits for the background save. Listeners are called in the next hook call.
  /// @throws FailedPreconditionError if other processes write parts of it, as with a sharded saver.
  TRAINHOOK_DECL void wait_until_written();

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  TRAINHOOK_DECL bool save(detail::CheckpointJob& job, SessionRef session, std::int64_t step) override;
  TRAINHOOK_DECL bool may_overlap(std::int64_t step);
  TRAINHOOK_DECL void report_replaced(SessionRef session, const detail::Save& replaced, std::int64_t by);

  TRAINHOOK_DECL void finish_saves(SessionRef session) override;

  // Reports all finished saves, then throws the first failure. True if a listener requests a stop.
  TRAINHOOK_DECL bool report_finished(SessionRef session);

  std::unique_ptr<detail::BackgroundWriter> writer_;
  bool skipping_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/async_checkpoint_saver_hook.ipp>
#endif
