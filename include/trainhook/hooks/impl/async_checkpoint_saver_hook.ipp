// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of async_checkpoint_saver_hook.hpp.
#pragma once

#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>

#include <string>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/background_writer.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/hooks/checkpoint_job.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook {

AsyncCheckpointSaverHook::AsyncCheckpointSaverHook(Options options)
    : CheckpointSaverHook(std::make_unique<detail::CheckpointJob>("AsyncCheckpointSaverHook", std::move(options),
                                                                  detail::SaveStart::LogThenListeners)) {}

AsyncCheckpointSaverHook::AsyncCheckpointSaverHook(AsyncCheckpointSaverHook&& other) noexcept = default;

AsyncCheckpointSaverHook::~AsyncCheckpointSaverHook() = default;

void AsyncCheckpointSaverHook::wait_until_written() {
  if (writer_ == nullptr) return;
  if (job_->awaits_parts())
    throw FailedPreconditionError(
        "{}: other ranks of the job have a part in the checkpoint that is being written, and "
        "hand it over at the end of a step; train on, or close the session",
        job_->hook());
  writer_->wait();
}

void AsyncCheckpointSaverHook::begin(Graph& graph) {
  writer_ = std::make_unique<detail::BackgroundWriter>();
  CheckpointSaverHook::begin(graph);
  services().before_recovery([this] {
    if (!job_->awaits_parts()) writer_->wait();  // other ranks hand their parts over at the end of a step
  });
}

void AsyncCheckpointSaverHook::after_create_session(SessionRef session, Coordinator& coordinator) {
  writer_->wait();
  take_outcomes(session);
  CheckpointSaverHook::after_create_session(session, coordinator);
}

void AsyncCheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  job_->keep_directory(context);
  if (writer_->has_outcome() && take_outcomes(context.session())) context.request_stop();
  if (job_->is_due(context) && save(context.session(), context.global_step())) context.request_stop();
}

void AsyncCheckpointSaverHook::end(SessionRef session) {
  std::exception_ptr failure;
  try {
    job_->fetch_parts();
    writer_->wait();
    take_outcomes(session);
  } catch (...) { failure = std::current_exception(); }
  try {
    job_->end(session);
  } catch (...) {
    if (failure == nullptr) failure = std::current_exception();
  }
  writer_.reset();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void AsyncCheckpointSaverHook::abort(const std::exception_ptr& /*error*/) noexcept {
  if (writer_ != nullptr) {
    writer_->wait();
    while (const auto outcome = writer_->take_outcome()) job_->finish(outcome->step, outcome->prefix, outcome->error);
    writer_.reset();
  }
  job_->abort();
}

bool AsyncCheckpointSaverHook::save(SessionRef session, std::int64_t step) {
  if (writer_->is_busy() && !may_overlap(step)) return false;
  const bool stop = take_outcomes(session);
  if (job_->is_vetoed(session, step)) return stop;
  const bool later = writer_->has_thread();  // asked once: what is no snapshot is not for a thread
  const auto when = later ? detail::CheckpointJob::Commit::Later : detail::CheckpointJob::Commit::AtOnce;
  job_->prepare(session, step, when);
  try {
    job_->start_save(session, step);
    auto commit = job_->take(session, step, when);
    if (!later) {
      writer_->write_in_place(step, std::move(commit));
    } else if (const auto replaced = writer_->submit(step, std::move(commit))) {
      report_replaced(session, *replaced, step);
    }
  } catch (...) { job_->failed(session, step, std::current_exception()); }
  return stop;
}

bool AsyncCheckpointSaverHook::may_overlap(std::int64_t step) {
  const bool waits =
      job_->overlap() == SaveOverlap::Wait || (job_->overlap() != SaveOverlap::Skip && job_->awaits_parts());
  if (waits && !job_->fetch_parts(step)) return false;
  if (waits) writer_->wait();
  if (job_->overlap() != SaveOverlap::Skip) return true;
  if (!std::exchange(skipping_, true)) {
    log_warning("{}: skipping the checkpoint of step {}, because the one before is still being written", job_->hook(),
                step);
  }
  return false;
}

void AsyncCheckpointSaverHook::report_replaced(SessionRef session, std::int64_t step, std::int64_t by) {
  const std::string reason =
      fmt::format("the checkpoint of step {} was waiting to be written and is replaced by that of step {}", step, by);
  log_warning("{}: {}", job_->hook(), reason);
  job_->not_saved(session, step, std::make_exception_ptr(CancelledError(reason)));
}

bool AsyncCheckpointSaverHook::take_outcomes(SessionRef session) {
  bool stop = false;
  std::exception_ptr failure;
  while (const auto outcome = writer_->take_outcome()) {
    skipping_ = false;
    try {
      if (outcome->error != nullptr) {
        job_->failed(session, outcome->step, outcome->error);
      } else {
        stop |= job_->committed(session, outcome->step, outcome->prefix);
      }
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  return stop;
}

}  // namespace trainhook
