// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/checkpoint_saver_hook.hpp>

#include <utility>

#include <trainhook/core/user_call.hpp>
#include <trainhook/hooks/saving/checkpoint_job.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook {

CheckpointSaverHook::CheckpointSaverHook(Options options)
    : CheckpointSaverHook("CheckpointSaverHook", std::move(options), detail::SaveStart::ListenersThenLog) {}

CheckpointSaverHook::CheckpointSaverHook(std::string_view hook, Options options, detail::SaveStart start)
    : job_(std::make_unique<detail::CheckpointJob>(hook, std::move(options), start)) {}

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHook&& other) noexcept = default;

CheckpointSaverHook::~CheckpointSaverHook() = default;

std::optional<std::int64_t> CheckpointSaverHook::last_saved_step() const noexcept { return job_->last_saved_step(); }

std::string CheckpointSaverHook::writes_to() const {
  return job_->directory().empty() ? services().checkpoint_dir() : job_->directory();
}

void CheckpointSaverHook::begin(Graph& graph) {
  auto& services = detail::SessionServices::of(this->services());
  job_->begin(graph, services);
  if (!job_->saves_on_exception()) return;
  services.on_exception(*this, [this](SessionRef session) {
    detail::FirstError failure;
    failure.attempt([&] { finish_saves(session); });
    failure.attempt([&] { job_->save_on_exception(session); });
    failure.rethrow();
  });
}

void CheckpointSaverHook::after_create_session(SessionRef session, Coordinator& coordinator) {
  if (!job_->is_restored(session)) {
    job_->describe(session);
    save(*job_, session, job_->global_step(session));
  }
  if (job_->is_stopped_by_listener(session)) coordinator.request_stop();
}

SessionRunArgs CheckpointSaverHook::before_run(SessionRunContext& context) {
  job_->describe(context.session());
  return {};
}

void CheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  job_->keep_directory(context);
  if (job_->is_due(context) && save(*job_, context.session(), context.global_step())) context.request_stop();
}

bool CheckpointSaverHook::save(detail::CheckpointJob& job, SessionRef session, std::int64_t step) {
  return job.save_now(session, step);
}

void CheckpointSaverHook::finish_saves(SessionRef /*session*/) {}

void CheckpointSaverHook::end(SessionRef session) { job_->end(session); }

void CheckpointSaverHook::abort(const std::exception_ptr& /*error*/) noexcept { job_->abort(); }

}  // namespace trainhook
