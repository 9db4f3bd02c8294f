// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/recording_listener.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>

namespace trainhook::testing {

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
