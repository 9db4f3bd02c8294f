// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointSaverListener: callbacks before and after each save of a saver hook.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// Derive from it and pass it to a CheckpointSaverHook or AsyncCheckpointSaverHook. All callbacks are called on the
/// thread that runs the session. Source: TensorFlow's `CheckpointSaverListener`; `save_failed` is an addition.
class CheckpointSaverListener {
 public:
  TRAINHOOK_DECL virtual ~CheckpointSaverListener();

  /// Called once, before the session exists.
  virtual void begin() {}

  /// Called before the state of step `global_step` is taken. An exception makes the save fail.
  virtual void before_save(SessionRef /*session*/, std::int64_t /*global_step*/) {}

  /// Called when the checkpoint is committed: it is on disk and the newest. After an asynchronous save, in the first
  /// hook call after the commit, when training may be some steps ahead, or when another error ends the run, unless that
  /// has cost the session. Return true to request a stop.
  virtual bool after_save(SessionRef /*session*/, std::int64_t /*global_step*/) { return false; }

  /// Called instead of `after_save` if the save failed with `error`.
  virtual void save_failed(SessionRef /*session*/, std::int64_t /*global_step*/, const std::exception_ptr& /*error*/) {}

  /// Called once, after the last save of a session that ends without an error.
  virtual void end(SessionRef /*session*/, std::int64_t /*global_step*/) {}

 protected:
  CheckpointSaverListener() = default;
  CheckpointSaverListener(const CheckpointSaverListener&) = default;
  CheckpointSaverListener& operator=(const CheckpointSaverListener&) = default;
};

namespace detail {

/// A collection of `std::shared_ptr<CheckpointSaverListener>`: the first saver hook of a session takes these listeners
/// from the graph when it begins.
inline constexpr std::string_view kSavingListeners = "saving_listeners";

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/checkpoint_saver_listener.ipp>
#endif
