// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/live_session.hpp>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/session_run_hook.hpp>
#include <trainhook/session/session_threads.hpp>

namespace trainhook::detail {

LiveSession::LiveSession(OwnedSession owned, const Hooks& hooks, SessionServices& services,
                         const RecoveryPolicy& recovery, Duration stop_grace_period_secs)
    : owned_(std::move(owned)),
      hooks_(&hooks),
      services_(&services),
      recovery_(&recovery),
      stop_grace_period_secs_(stop_grace_period_secs),
      coordinator_(make_shared_object<Coordinator>(services.clock())),
      global_step_(get_global_step(session().graph())) {
  merged_.reserve(hooks.size());
}

void LiveSession::start(bool is_chief) {
  services_->start_session(owned_.restored_from);
  if (const auto restored = step()) services_->writers().restart_at(*restored + 1);
  try {
    if (owned_.shared != nullptr) owned_.shared->begin(coordinator_);
    const Graph& graph = session().graph();
    for (const SessionThreads& threads : graph.collection<SessionThreads>(graph_keys::kSessionThreads)) {
      if (is_chief) {
        threads.start(session(), *coordinator_, owned_.owner);
      } else {
        threads.leave_to_the_chief(graph);
      }
    }
    for (const std::shared_ptr<SessionRunHook>& hook : *hooks_) {
      const bool was_stopped = coordinator_->should_stop();
      services_->activity().note("after_create_session", hook.get());
      call_hook(*hook, "after_create_session", [&] { hook->after_create_session(session(), *coordinator_); });
      if (was_stopped || !coordinator_->should_stop() || coordinator_->error() != nullptr) continue;
      stopped_when_created_ = true;
      services_->set_stop_reason(fmt::format("{} requested a stop", short_type_name(*hook)));
    }
  } catch (...) {
    close_quietly(true);  // it is recreated, or the session ends by an error
    throw;
  }
}

bool LiveSession::should_stop() noexcept {
  try {
    hear_of_others();
  } catch (...) {
    log_error("the error of another user of the session is lost: {}", describe(std::current_exception()));
    return true;
  }
  return stop_requested() || coordinator_->should_stop();
}

void LiveSession::run(const RunRequest& request, std::span<Tensor> results) {
  guarded([&] {
    if (stop_requested())
      throw FailedPreconditionError("Run called even after should_stop requested; ask should_stop() before each step");
    if (is_running_) {  // from inside a run, whose memory must stay as it is
      MergedRun merged;
      return run(request, results, merged);
    }
    const ScopedFlag running(is_running_);
    run(request, results, merged_);
  });
}

void LiveSession::run(const RunRequest& request, std::span<Tensor> results, MergedRun& merged) {
  SessionRunContext context(session(), request, services_->clock(), global_step_ ? &*global_step_ : nullptr);
  Progress progress;
  SessionActivity& activity = services_->activity();
  const bool is_nested = &merged != &merged_;
  const char* const outer_what = activity.what();
  const SessionRunHook* const outer_hook = activity.hook();
  try {
    merged.begin(request);
    activity.note(progress.callback = "before_run");
    for (const std::shared_ptr<SessionRunHook>& hook : *hooks_) {
      activity.note(*hook);
      merged.add(hook->before_run(context), session());
      expect_here();  // a callback may fork, and in the child the others are dead
      if (context.stop_requested()) note_stop(context, *hook, progress);
      ++progress.asked;
    }
    progress.callback = nullptr;
    activity.note("the step");
    const int before = begin_step();
    merged.execute(session(), request);
    end_step(before);
    expect_here();
    context.mark_run_done();
    activity.note(progress.callback = "after_run");
    for (; progress.told < hooks_->size(); ++progress.told) {
      SessionRunHook& hook = *(*hooks_)[progress.told];
      activity.note(hook);
      hook.after_run(context, merged.values_of(progress.told));
      expect_here();
      if (context.stop_requested()) note_stop(context, hook, progress);
    }
  } catch (...) {
    if (!services_->process().is_here()) throw;
    activity.note("what follows a failed run");
    if (progress.told < hooks_->size() && progress.callback != nullptr && progress.asked == hooks_->size() &&
        hook_of(progress).phase() == HookPhase::Check)
      static_cast<void>(begin_step());  // nobody has checked the step
    if (context.stop_requested() && progress.callback != nullptr) note_stop(context, hook_of(progress), progress);
    tell_of_failure(context, progress, std::current_exception());
    if (context.stop_requested()) take_stop(context, progress);
    merged.release();
    throw;
  }
  if (is_nested) {
    activity.note(outer_what, outer_hook);
  } else {
    activity.note("the program, between two runs");
  }
  if (context.stop_requested()) take_stop(context, progress);
  merged.give_results(results);
  merged.release();
}

void LiveSession::note_stop(SessionRunContext& context, const SessionRunHook& hook, Progress& progress) noexcept {
  if (progress.stopper != nullptr) return;
  progress.stopper = &hook;
  try {
    progress.stop_since = context.global_step();
  } catch (...) {  // without a step, nothing tells whether a recovery goes back behind the request
  }
}

void LiveSession::take_stop(const SessionRunContext& context, const Progress& progress) {
  request_stop(progress.stop_since);
  services_->set_stop_reason(!context.stop_reason().empty() ? context.stop_reason()
                             : progress.stopper != nullptr
                                 ? fmt::format("{} requested a stop", short_type_name(*progress.stopper))
                                 : std::string("a hook requested a stop"),
                             context.is_interruption());
}

const SessionRunHook& LiveSession::hook_of(const Progress& progress) const {
  const bool before = progress.asked < hooks_->size();
  return *(*hooks_)[before ? progress.asked : progress.told];
}

void LiveSession::tell_of_failure(SessionRunContext& context, Progress progress,
                                  const std::exception_ptr& error) noexcept {
  if (progress.callback != nullptr) log_hook_failure(hook_of(progress), progress.callback, error);
  try {
    // A lost run is made again: those that have heard of its success are done with it.
    const std::size_t first = progress.told > 0 && recovery_->is_loss(error) ? progress.told : 0;
    for (std::size_t i = first; i < progress.asked; ++i) {
      SessionRunHook& hook = *(*hooks_)[i];
      try {
        hook.on_run_failed(context, error);
      } catch (...) {
        log_error("hook '{}' failed in on_run_failed in turn: {}", hook_name(hook), describe(std::current_exception()));
      }
    }
  } catch (...) { log_error("a hook has no name for the log: {}", describe(std::current_exception())); }
}

void LiveSession::guarded(FunctionRef<void()> body) {
  if (hear_of_others()) coordinator_->raise_requested_exception();
  try {
    body();
  } catch (...) {
    if (!services_->process().is_here()) throw;  // the user's code has forked
    const std::exception_ptr failure = std::current_exception();
    hear_of_others();
    std::exception_ptr cause = coordinator_->error();
    const bool is_lost = owned_.shared != nullptr && owned_.shared->is_lost();
    if (cause == nullptr && owned_.shared != nullptr && !is_lost) cause = owned_.shared->cause();
    if (cause != nullptr) {
      if (coordinator_->error() == nullptr) coordinator_->request_stop(cause);
      if (cause != failure) coordinator_->request_stop(failure);
      std::rethrow_exception(cause);
    }
    if (is_lost && !is_preemption(failure))
      throw UnavailableError("the chief has given up the session: {}", describe(failure));
    throw;
  }
}

std::optional<std::int64_t> LiveSession::step() const noexcept {
  try {
    if (!global_step_) return std::nullopt;
    const std::string name(global_step_->name());
    const Tensor value = session().snapshot({&name, 1}).at(0).tensor;
    return value.dtype() == DType::Int32 ? value.scalar<std::int32_t>() : value.scalar<std::int64_t>();
  } catch (...) { return std::nullopt; }
}

std::vector<std::exception_ptr> LiveSession::errors() {
  hear_of_others();
  return coordinator_->errors();
}

std::vector<std::exception_ptr> LiveSession::close(bool is_lost) {
  if (std::exchange(closed_, true)) return {};
  if (is_lost && owned_.shared != nullptr) owned_.shared->lose();
  coordinator_->request_stop();
  try {
    coordinator_->join(stop_grace_period_secs_, true);
  } catch (...) {  // one of those that it lists
  }
  try {
    owned_.close();
  } catch (...) { log_error("closing the session failed: {}", describe(std::current_exception())); }
  return coordinator_->errors();
}

void LiveSession::close_quietly(bool is_lost) noexcept {
  try {
    static_cast<void>(close(is_lost));  // its errors are in the log
  } catch (...) { log_error("while the session was closed: {}", describe(std::current_exception())); }
}

bool LiveSession::hear_of_others() {
  if (owned_.shared == nullptr) return false;
  const std::exception_ptr error = owned_.shared->error();
  if (error != nullptr && coordinator_->error() == nullptr) coordinator_->request_stop(error);
  return error != nullptr;
}

}  // namespace trainhook::detail
