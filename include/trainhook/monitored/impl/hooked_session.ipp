// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of hooked_session.hpp.
#pragma once

#include <trainhook/monitored/hooked_session.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/hook_names.hpp>

namespace trainhook::detail {

Hooks in_phases(const HookList& entries) {
  Hooks hooks;
  for (const HookPhase phase : {HookPhase::Check, HookPhase::Normal, HookPhase::Save, HookPhase::Report}) {
    for (const HookEntry& entry : entries) {
      if (entry.get()->phase() != phase) continue;
      if (std::ranges::find(hooks, entry.get()) != hooks.end())
        throw InvalidArgumentError("the same hook is twice in the list of hooks");
      hooks.push_back(entry.get());
    }
  }
  const auto stops_at_step = [](const auto& hook) {
    return dynamic_cast<const StopAtStepHook*>(hook.get()) != nullptr;
  };
  if (std::ranges::count_if(hooks, stops_at_step) > 1)
    log_warning("there are several StopAtStepHooks: the loop ends at the smallest of their last steps");
  return hooks;
}

std::optional<std::string> first_veto(const Hooks& hooks) {
  for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
    if (auto reason = call_hook(*hook, "veto_save", [&] { return hook->veto_save(); })) return reason;
  }
  return std::nullopt;
}

HookedSession::HookedSession(SessionRef session, const Hooks& hooks, SessionServices& services, IsLoss is_loss)
    : session_(session),
      hooks_(&hooks),
      services_(&services),
      is_loss_(std::move(is_loss)),
      global_step_(get_global_step(session.graph())) {
  merged_.reserve(hooks.size());
}

void HookedSession::run(const RunRequest& request, std::span<Tensor> results) {
  if (should_stop())
    throw FailedPreconditionError("Run called even after should_stop requested; ask should_stop() before each step");
  if (is_running_) {  // from inside a run, whose memory must stay as it is
    MergedRun merged;
    run(request, results, merged);
    return;
  }
  is_running_ = true;
  try {
    run(request, results, merged_);
  } catch (...) {
    is_running_ = false;
    throw;
  }
  is_running_ = false;
}

void HookedSession::run(const RunRequest& request, std::span<Tensor> results, MergedRun& merged) {
  SessionRunContext context(session_, request, services_->clock(), global_step_ ? &*global_step_ : nullptr);
  Progress progress;
  try {
    merged.begin(request);
    progress.callback = "before_run";
    for (const std::shared_ptr<SessionRunHook>& hook : *hooks_) {
      merged.add(hook->before_run(context), session_);
      expect_here();  // a callback may fork, and in the child the others are dead
      if (context.stop_requested()) note_stop(context, *hook, progress);
      ++progress.asked;
    }
    progress.callback = {};
    merged.execute(session_, request);
    expect_here();
    context.mark_run_done();
    progress.callback = "after_run";
    for (; progress.told < hooks_->size(); ++progress.told) {
      SessionRunHook& hook = *(*hooks_)[progress.told];
      hook.after_run(context, merged.values_of(progress.told));
      expect_here();
      if (context.stop_requested()) note_stop(context, hook, progress);
    }
  } catch (...) {
    if (!services_->process().is_here()) throw;
    if (context.stop_requested() && !progress.callback.empty()) note_stop(context, hook_of(progress), progress);
    tell_of_failure(context, progress, std::current_exception());
    if (context.stop_requested()) take_stop(context, progress);
    merged.release();
    throw;
  }
  if (context.stop_requested()) take_stop(context, progress);
  merged.give_results(results);
  merged.release();
}

void HookedSession::note_stop(SessionRunContext& context, const SessionRunHook& hook, Progress& progress) noexcept {
  if (progress.stopper != nullptr) return;
  progress.stopper = &hook;
  try {
    progress.stop_since = context.global_step();
  } catch (...) {  // without a step, nothing tells whether a recovery goes back behind the request
  }
}

void HookedSession::take_stop(const SessionRunContext& context, const Progress& progress) {
  request_stop(progress.stop_since);
  stops_on_all_ranks_ |= context.stops_on_all_ranks();
  services_->set_stop_reason(!context.stop_reason().empty() ? context.stop_reason()
                             : progress.stopper != nullptr
                                 ? fmt::format("{} requested a stop", short_type_name(*progress.stopper))
                                 : std::string("a hook requested a stop"),
                             context.is_interruption());
}

const SessionRunHook& HookedSession::hook_of(const Progress& progress) const {
  const bool before = progress.asked < hooks_->size();
  return *(*hooks_)[before ? progress.asked : progress.told];
}

void HookedSession::tell_of_failure(SessionRunContext& context, Progress progress,
                                    const std::exception_ptr& error) noexcept {
  if (!progress.callback.empty()) log_hook_failure(hook_of(progress), progress.callback, error);
  try {
    // A lost run is made again: those that have heard of its success are done with it.
    const std::size_t first = progress.told > 0 && is_loss_(error) ? progress.told : 0;
    for (std::size_t i = first; i < progress.asked; ++i) {
      SessionRunHook& hook = *(*hooks_)[i];
      try {
        hook.on_run_failed(context, error);
      } catch (...) {
        log_error("hook '{}' failed in on_run_failed in turn: {}", hook_name(hook), describe(std::current_exception()));
      }
    }
  } catch (...) { log_error("a predicate for losses failed: {}", describe(std::current_exception())); }
}

}  // namespace trainhook::detail
