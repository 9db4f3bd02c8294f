// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/lambda_hook.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

LambdaHook::LambdaHook(Options options) : functions_(std::move(options)) {
  const Options& given = functions_;
  if (!given.begin && !given.after_create_session && !given.before_run && !given.after_run && !given.on_run_failed &&
      !given.end && !given.abort && !given.veto_save && !given.save_state && !given.load_state)
    throw InvalidArgumentError("LambdaHook: no function is given; give at least one, such as after_run");
  if (static_cast<bool>(given.save_state) != static_cast<bool>(given.load_state))
    throw InvalidArgumentError("LambdaHook: {} is given without {}; give both, or neither",
                               given.save_state ? "save_state" : "load_state",
                               given.save_state ? "load_state" : "save_state");
}

LambdaHook::LambdaHook(LambdaHook&& other) noexcept = default;
LambdaHook::~LambdaHook() = default;

void LambdaHook::begin(Graph& graph) {
  if (functions_.begin) functions_.begin(graph);
}

void LambdaHook::after_create_session(SessionRef session, Coordinator& coordinator) {
  if (functions_.after_create_session) functions_.after_create_session(session, coordinator);
}

SessionRunArgs LambdaHook::before_run(SessionRunContext& context) {
  return functions_.before_run ? functions_.before_run(context) : SessionRunArgs{};
}

void LambdaHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (functions_.after_run) functions_.after_run(context, values);
}

void LambdaHook::on_run_failed(SessionRunContext& context, const std::exception_ptr& error) {
  if (functions_.on_run_failed) functions_.on_run_failed(context, error);
}

void LambdaHook::end(SessionRef session) {
  if (functions_.end) functions_.end(session);
}

void LambdaHook::abort(const std::exception_ptr& error) noexcept {
  try {
    if (functions_.abort) functions_.abort(error);
  } catch (...) { log_error("LambdaHook: abort threw: {}", describe(std::current_exception())); }
}

std::optional<std::string> LambdaHook::veto_save() {
  return functions_.veto_save ? functions_.veto_save() : std::nullopt;
}

StateValues LambdaHook::save_state() { return functions_.save_state ? functions_.save_state() : StateValues(); }

void LambdaHook::load_state(const StateValues& state) {
  if (functions_.load_state) functions_.load_state(state);
}

}  // namespace trainhook
