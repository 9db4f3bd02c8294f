// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>

#include <string>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/hooks/saving/background_writer.hpp>
#include <trainhook/hooks/saving/checkpoint_job.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook {

AsyncCheckpointSaverHook::AsyncCheckpointSaverHook(Options options)
    : CheckpointSaverHook("AsyncCheckpointSaverHook", std::move(options), detail::SaveStart::LogThenListeners) {}

AsyncCheckpointSaverHook::AsyncCheckpointSaverHook(AsyncCheckpointSaverHook&& other) noexcept = default;

AsyncCheckpointSaverHook::~AsyncCheckpointSaverHook() = default;

void AsyncCheckpointSaverHook::wait_until_written() {
  if (writer_ == nullptr) return;
  if (job_->is_incomplete())
    throw FailedPreconditionError(
        "{}: other processes of the job have a part in the checkpoint that is being written, and "
        "hand it over at the end of a step; train on, or close the session",
        job_->hook());
  writer_->wait();
}

void AsyncCheckpointSaverHook::begin(Graph& graph) {
  writer_ = std::make_unique<detail::BackgroundWriter>();
  CheckpointSaverHook::begin(graph);
  services().before_recovery([this] {
    if (!job_->is_incomplete()) writer_->wait();  // else the rest comes at the end of a step
  });
}

void AsyncCheckpointSaverHook::after_create_session(SessionRef session, Coordinator& coordinator) {
  writer_->wait();
  report_finished(session);
  CheckpointSaverHook::after_create_session(session, coordinator);
}

void AsyncCheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  job_->keep_directory(context);
  if (writer_->has_finished() && report_finished(context.session())) context.request_stop();
  if (job_->is_due(context) && save(*job_, context.session(), context.global_step())) context.request_stop();
}

void AsyncCheckpointSaverHook::finish_saves(SessionRef session) {
  job_->complete();
  writer_->wait();
  report_finished(session);
}

void AsyncCheckpointSaverHook::end(SessionRef session) {
  detail::FirstError failure;
  failure.attempt([&] { finish_saves(session); });
  failure.attempt([&] { job_->end(session); });
  writer_.reset();
  failure.rethrow();
}

void AsyncCheckpointSaverHook::abort(const std::exception_ptr& /*error*/) noexcept {
  if (writer_ != nullptr) {
    writer_->wait();
    while (const auto save = writer_->take_finished()) job_->abort_save(*save);
    writer_.reset();
  }
  job_->abort();
}

bool AsyncCheckpointSaverHook::save(detail::CheckpointJob& job, SessionRef session, std::int64_t step) {
  if (writer_->is_busy() && !may_overlap(step)) return false;
  const bool stop = report_finished(session);
  const bool later = writer_->has_thread();  // asked once: what is no snapshot is not for a thread
  using Commit = detail::CheckpointJob::Commit;
  auto save = job.begin_save(session, step, later ? Commit::Later : Commit::AtOnce);
  if (!save) return stop;
  if (!later) {
    writer_->commit_in_place(*std::move(save));
  } else if (const auto replaced = writer_->submit(*std::move(save))) {
    report_replaced(session, *replaced, step);
  }
  return stop;
}

bool AsyncCheckpointSaverHook::may_overlap(std::int64_t step) {
  const bool waits =
      job_->overlap() == SaveOverlap::Wait || (job_->overlap() != SaveOverlap::Skip && job_->is_incomplete());
  if (waits) {
    const Duration started = services().clock().monotonic_now();
    const bool is_complete = job_->complete(step);
    if (is_complete) writer_->wait();
    job_->note_wait(Duration(services().clock().monotonic_now() - started));
    if (!is_complete) return false;
  }
  if (job_->overlap() != SaveOverlap::Skip) return true;
  if (!std::exchange(skipping_, true)) {
    log_warning("{}: skipping the checkpoint of step {}, because the one before is still being written", job_->hook(),
                step);
  }
  return false;
}

void AsyncCheckpointSaverHook::report_replaced(SessionRef session, const detail::Save& replaced, std::int64_t by) {
  const std::string reason = fmt::format(
      "the checkpoint of step {} was waiting to be written and is replaced by that of step {}", replaced.step(), by);
  log_warning("{}: {}", job_->hook(), reason);
  job_->tell_failure(session, replaced.step(), std::make_exception_ptr(CancelledError(reason)));
}

bool AsyncCheckpointSaverHook::report_finished(SessionRef session) {
  bool stop = false;
  detail::FirstError failure;
  while (const auto save = writer_->take_finished()) {
    skipping_ = false;
    failure.attempt([&] { stop |= job_->finish_save(session, *save); });
  }
  failure.rethrow();
  return stop;
}

}  // namespace trainhook
