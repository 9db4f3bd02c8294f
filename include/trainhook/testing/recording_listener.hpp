// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordingListener: writes down what a saver hook tells it, and misbehaves on request.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/testing/recording_hook.hpp>

namespace trainhook::testing {

/// Each callback adds a line to the trace, which other listeners and hooks may share: `a.begin`, `a.before_save 4`, `a.after_save 4`,
/// `a.save_failed 4: DataLoss` (the code, which unlike the message is always the same), `a.end 4`. What stands in `act` under that line,
/// without name and code, is done after it is written: throw, look at the disk, ...
class RecordingListener final : public CheckpointSaverListener {
 public:
  explicit RecordingListener(std::shared_ptr<Trace> trace, std::string name = "listener")
      : trace_(std::move(trace)), name_(std::move(name)) {}

  std::map<std::string, std::function<void()>> act;
  std::optional<std::int64_t> stop_after;  ///< the step after whose save it asks the loop to stop

  void begin() override { record("begin"); }
  void before_save(SessionRef, std::int64_t global_step) override { record(str_cat("before_save ", global_step)); }
  bool after_save(SessionRef, std::int64_t global_step) override {
    record(str_cat("after_save ", global_step));
    return stop_after == global_step;
  }
  void save_failed(SessionRef, std::int64_t global_step, const std::exception_ptr& error) override {
    record(str_cat("save_failed ", global_step), code_name(error));
  }
  void end(SessionRef, std::int64_t global_step) override { record(str_cat("end ", global_step)); }

 private:
  static std::string code_name(const std::exception_ptr& error) {
    try {
      if (error != nullptr) std::rethrow_exception(error);
    } catch (const Error& failure) { return std::string(error_code_name(failure.code())); } catch (...) {
    }
    return describe(error);
  }

  void record(const std::string& callback, const std::string& detail = {}) {
    trace_->add(str_cat(name_, ".", callback, detail.empty() ? "" : ": ", detail));
    if (const auto action = act.find(callback); action != act.end()) action->second();
  }

  std::shared_ptr<Trace> trace_;
  std::string name_;
};

}  // namespace trainhook::testing
