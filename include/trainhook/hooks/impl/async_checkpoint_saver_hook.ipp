// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of async_checkpoint_saver_hook.hpp.
#pragma once

#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>

#include <utility>

#include <fmt/core.h>

#include <trainhook/core/log.hpp>
#include <trainhook/session/coordinator.hpp>

namespace trainhook {

TRAINHOOK_DECL AsyncCheckpointSaverHook::AsyncCheckpointSaverHook(Options options)
    : CheckpointSaverHook({.checkpoint_dir = std::move(options.checkpoint_dir),
                           .save_secs = options.save_secs,
                           .save_steps = options.save_steps,
                           .saver = std::move(options.saver),
                           .checkpoint_basename = std::move(options.checkpoint_basename),
                           .scaffold = std::move(options.scaffold),
                           .listeners = std::move(options.listeners),
                           .save_graph_def = options.save_graph_def,
                           .align_steps = options.align_steps,
                           .tolerated_save_failures = options.tolerated_save_failures},
                          "AsyncCheckpointSaverHook"),
      overlap_(options.overlap) {}

TRAINHOOK_DECL void AsyncCheckpointSaverHook::begin(Graph& graph) {
  writer_ = std::make_unique<BackgroundWriter>();
  CheckpointSaverHook::begin(graph);
}

TRAINHOOK_DECL void AsyncCheckpointSaverHook::after_create_session(SessionRef session, Coordinator& coordinator) {
  writer_->wait();
  if (take_outcomes(session)) coordinator.request_stop();
  CheckpointSaverHook::after_create_session(session, coordinator);
}

TRAINHOOK_DECL void AsyncCheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (writer_->has_outcome() && take_outcomes(context.session())) context.request_stop();
  CheckpointSaverHook::after_run(context, values);
}

TRAINHOOK_DECL void AsyncCheckpointSaverHook::end(SessionRef session) {
  std::exception_ptr failure;
  try {
    writer_->wait();
    take_outcomes(session);
  } catch (...) { failure = std::current_exception(); }
  try {
    CheckpointSaverHook::end(session);
  } catch (...) {
    if (failure == nullptr) failure = std::current_exception();
  }
  writer_.reset();
  if (failure != nullptr) std::rethrow_exception(failure);
}

TRAINHOOK_DECL void AsyncCheckpointSaverHook::abort(const std::exception_ptr& error) noexcept {
  if (writer_ != nullptr) {
    writer_->wait();
    while (const std::optional<BackgroundWrite> outcome = writer_->take_outcome()) {
      if (outcome->error != nullptr) {
        log_error("{}: the checkpoint of step {} could not be saved: {}", type(), outcome->step,
                  describe_error(outcome->error));
      }
    }
    writer_.reset();
  }
  CheckpointSaverHook::abort(error);
}

TRAINHOOK_DECL bool AsyncCheckpointSaverHook::save(SessionRef session, std::int64_t step) {
  if (writer_->is_busy() && !may_overlap(step)) return false;
  const bool stop = take_outcomes(session);
  if (is_vetoed(step)) return stop;
  mark_triggered(step);
  try {
    announce(session, step);
    if (const auto replaced = writer_->submit(step, take(session, step))) tell_replaced(session, *replaced, step);
  } catch (...) { tell_failure(session, step, std::current_exception()); }
  return stop;
}

TRAINHOOK_DECL bool AsyncCheckpointSaverHook::may_overlap(std::int64_t step) {
  if (overlap_ == SaveOverlap::Wait) writer_->wait();
  if (overlap_ != SaveOverlap::Skip) return true;
  if (!std::exchange(skipping_, true)) {
    log_warning("{}: skipping the checkpoint of step {}, because the one before is still being written", type(), step);
  }
  return false;
}

TRAINHOOK_DECL void AsyncCheckpointSaverHook::tell_replaced(SessionRef session, std::int64_t step, std::int64_t by) {
  const std::string reason =
      fmt::format("the checkpoint of step {} was waiting to be written and is replaced by that of step {}", step, by);
  log_warning("{}: {}", type(), reason);
  tell_no_save(session, step, std::make_exception_ptr(CancelledError(reason)));
}

TRAINHOOK_DECL bool AsyncCheckpointSaverHook::take_outcomes(SessionRef session) {
  bool stop = false;
  std::exception_ptr failure;
  while (const std::optional<BackgroundWrite> outcome = writer_->take_outcome()) {
    skipping_ = false;
    try {
      if (outcome->error != nullptr) {
        tell_failure(session, outcome->step, outcome->error);
      } else {
        stop |= tell_committed(session, outcome->step, outcome->prefix);
      }
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  return stop;
}

}  // namespace trainhook
