// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordingHook: writes down every call that it gets, and misbehaves on request.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::testing {

/// Lines in the order of the calls. Several hooks may share one.
class Trace {
 public:
  void add(std::string line) { text_ += std::move(line) + "\n"; }
  [[nodiscard]] const std::string& lines() const noexcept { return text_; }

  /// What was added since the last call.
  [[nodiscard]] std::string take() { return std::exchange(text_, std::string()); }

 private:
  std::string text_;
};

/// Each callback adds a line, `<name>.<callback>`, runs with their number from 0: `a.before_run 0`. What stands in `act` under that line
/// (without the name) is done after it is written: throw, request a stop through `context`, ...
class RecordingHook final : public SessionRunHook {
 public:
  struct Options {
    std::string name = "hook";
    HookPhase phase = HookPhase::Normal;
    SessionRunArgs args{};
    std::optional<std::string> veto{};
  };

  RecordingHook(std::shared_ptr<Trace> trace, Options options) : trace_(std::move(trace)), options_(std::move(options)) {}

  /// What to do at a callback; the context is null where there is none.
  std::map<std::string, std::function<void(SessionRunContext*)>> act;
  std::vector<Tensor> last_results;

  void begin(Graph&) override { record("begin", nullptr); }
  void after_create_session(SessionRef, Coordinator& coordinator) override {
    last_coordinator = &coordinator;
    record("after_create_session", nullptr);
  }
  SessionRunArgs before_run(SessionRunContext& context) override {
    record(str_cat("before_run ", run_ + 1), &context);
    ++run_;  // one that throws above has not been
    return options_.args;
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    last_results.assign(values.results.begin(), values.results.end());
    record(str_cat("after_run ", run_), &context);
  }
  void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override {
    record(str_cat("on_run_failed ", run_), &context, describe(error));
  }
  void end(SessionRef) override { record("end", nullptr); }
  void abort(const std::exception_ptr& error) noexcept override { trace_->add(str_cat(options_.name, ".abort ", describe(error))); }
  [[nodiscard]] HookPhase phase() const noexcept override { return options_.phase; }
  [[nodiscard]] std::optional<std::string> veto_save() override { return options_.veto; }
  [[nodiscard]] std::string name() const override { return options_.name; }

  Coordinator* last_coordinator = nullptr;

 private:
  void record(const std::string& callback, SessionRunContext* context, const std::string& detail = {}) {
    trace_->add(str_cat(options_.name, ".", callback, detail.empty() ? "" : ": ", detail));
    if (const auto action = act.find(callback); action != act.end()) action->second(context);
  }

  std::shared_ptr<Trace> trace_;
  Options options_;
  int run_ = -1;
};

}  // namespace trainhook::testing
