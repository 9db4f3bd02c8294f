// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointSaverListener: is told of every checkpoint that a saver hook makes.
#pragma once

#include <cstdint>
#include <exception>

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// Derive from it and give it to a CheckpointSaverHook or AsyncCheckpointSaverHook. All callbacks come on the thread
/// that runs the session. Source: TensorFlow's `CheckpointSaverListener`; `save_failed` is an addition.
class CheckpointSaverListener {
 public:
  TRAINHOOK_DECL virtual ~CheckpointSaverListener();

  /// Once, before the session exists.
  virtual void begin() {}

  /// Before the state of step `global_step` is taken. An exception makes this save fail.
  virtual void before_save(SessionRef /*session*/, std::int64_t /*global_step*/) {}

  /// When the checkpoint is committed, that is on disk and the newest. After an asynchronous save: in the first hook
  /// call after the commit, when training may be some steps ahead. Return true to stop the loop.
  virtual bool after_save(SessionRef /*session*/, std::int64_t /*global_step*/) { return false; }

  /// In place of `after_save`, if the checkpoint could not be saved because of `error`.
  virtual void save_failed(SessionRef /*session*/, std::int64_t /*global_step*/, const std::exception_ptr& /*error*/) {}

  /// Once, after the last save of a session that ends without an error.
  virtual void end(SessionRef /*session*/, std::int64_t /*global_step*/) {}

 protected:
  CheckpointSaverListener() = default;
  CheckpointSaverListener(const CheckpointSaverListener&) = default;
  CheckpointSaverListener& operator=(const CheckpointSaverListener&) = default;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/checkpoint_saver_listener.ipp>
#endif
