// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/early_stopping_hook.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

EarlyStoppingHook::EarlyStoppingHook(Options options)
    : options_(std::move(options)), watch_(options_.better, options_.min_delta) {
  if (options_.patience < 1)
    throw InvalidArgumentError("EarlyStoppingHook: patience is {}; it must be at least 1", options_.patience);
  if (!(options_.min_delta >= 0))
    throw InvalidArgumentError("EarlyStoppingHook: min_delta is {}; it must be at least 0", options_.min_delta);
}

void EarlyStoppingHook::begin(Graph& /*graph*/) { watch_.reset(); }

void EarlyStoppingHook::after_create_session(SessionRef /*session*/, Coordinator& coordinator) {
  watch_.reset_unless_loaded();
  if (!has_stopped()) return;
  log_info(
      "EarlyStoppingHook: this run was stopped because {} had not improved for {} evaluations; {}; raise patience to "
      "continue",
      options_.metric, watch_.worse(), watch_.best_text());
  services().set_stop_reason(reason());
  coordinator.request_stop();
}

void EarlyStoppingHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (!watch_.take(services().metric(options_.metric)) || !has_stopped()) return;
  log_info("EarlyStoppingHook: {} has not improved for {} evaluations; {}; training stops after step {}",
           options_.metric, watch_.worse(), watch_.best_text(), context.global_step());
  context.request_stop(reason());
}

std::string EarlyStoppingHook::reason() const {
  return fmt::format("early stopping: {} has not improved for {} evaluations; {}", options_.metric, watch_.worse(),
                     watch_.best_text());
}

void EarlyStoppingHook::end(SessionRef /*session*/) {
  if (!watch_.has_seen_one()) detail::warn_if_never_published("EarlyStoppingHook", options_.metric, services());
}

std::string EarlyStoppingHook::name() const {
  return detail::name_of_state(*this, options_.name, {options_.metric, detail::better_text(options_.better)});
}

StateValues EarlyStoppingHook::save_state() {
  StateValues state;
  watch_.save(state);
  return state;
}

void EarlyStoppingHook::load_state(const StateValues& state) { watch_.load(state); }

}  // namespace trainhook
