// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/recording_hook.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>

namespace trainhook::testing {

void Trace::add(std::string line) { text_ += fmt::format("{}\n", line); }

std::string Trace::take() { return std::exchange(text_, std::string()); }

RecordingHook::RecordingHook(std::shared_ptr<Trace> trace, Options options)
    : trace_(std::move(trace)), options_(std::move(options)) {}

void RecordingHook::begin(Graph&) { record("begin", nullptr); }

void RecordingHook::after_create_session(SessionRef, Coordinator& coordinator) {
  last_coordinator = &coordinator;
  record("after_create_session", nullptr);
}

SessionRunArgs RecordingHook::before_run(SessionRunContext& context) {
  record(fmt::format("before_run {}", run_ + 1), &context);
  ++run_;  // not counted if the line above throws
  return options_.args;
}

void RecordingHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  last_results.assign(values.results.begin(), values.results.end());
  record(fmt::format("after_run {}", run_), &context);
}

void RecordingHook::on_run_failed(SessionRunContext& context, const std::exception_ptr& error) {
  record(fmt::format("on_run_failed {}", run_), &context, describe(error));
}

void RecordingHook::end(SessionRef) { record("end", nullptr); }

void RecordingHook::abort(const std::exception_ptr& error) noexcept {
  trace_->add(fmt::format("{}.abort {}", options_.name, describe(error)));
}

std::optional<std::string> RecordingHook::veto_save() {
  perform("veto_save", nullptr);
  return options_.veto;
}

StateValues RecordingHook::save_state() {
  perform("save_state", nullptr);
  return {};
}

void RecordingHook::load_state(const StateValues& /*state*/) { perform("load_state", nullptr); }

void RecordingHook::record(const std::string& callback, SessionRunContext* context, const std::string& detail) {
  trace_->add(fmt::format("{}.{}{}{}", options_.name, callback, detail.empty() ? "" : ": ", detail));
  perform(callback, context);
}

void RecordingHook::perform(const std::string& callback, SessionRunContext* context) {
  if (const auto action = act.find(callback); action != act.end()) action->second(context);
}

RecordingListener::RecordingListener(std::shared_ptr<Trace> trace, std::string name)
    : trace_(std::move(trace)), name_(std::move(name)) {}

void RecordingListener::begin() { record("begin"); }

void RecordingListener::before_save(SessionRef, std::int64_t global_step) {
  record(fmt::format("before_save {}", global_step));
}

bool RecordingListener::after_save(SessionRef, std::int64_t global_step) {
  record(fmt::format("after_save {}", global_step));
  return stop_after == global_step;
}

void RecordingListener::save_failed(SessionRef, std::int64_t global_step, const std::exception_ptr& error) {
  record(fmt::format("save_failed {}", global_step), code_name(error));
}

void RecordingListener::end(SessionRef, std::int64_t global_step) { record(fmt::format("end {}", global_step)); }

std::string RecordingListener::code_name(const std::exception_ptr& error) {
  try {
    if (error != nullptr) std::rethrow_exception(error);
  } catch (const Error& failure) { return std::string(error_code_name(failure.code())); } catch (...) {
  }
  return describe(error);
}

void RecordingListener::record(const std::string& callback, const std::string& detail) {
  trace_->add(fmt::format("{}.{}{}{}", name_, callback, detail.empty() ? "" : ": ", detail));
  if (const auto action = act.find(callback); action != act.end()) action->second();
}

}  // namespace trainhook::testing
