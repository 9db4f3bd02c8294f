// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordingHook and RecordingListener: record the calls of a session and of a saver hook, and misbehave on request.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::testing {

/// Lines in the order of the calls. Several hooks may share a trace.
class Trace {
 public:
  TRAINHOOK_DECL void add(std::string line);
  [[nodiscard]] const std::string& lines() const noexcept { return text_; }

  /// The lines since the last call.
  [[nodiscard]] TRAINHOOK_DECL std::string take();

 private:
  std::string text_;
};

/// Each callback adds a line with the names of the hook and the callback: `a.end`. Runs are numbered from 0:
/// `a.before_run 0`. Then it calls the entry of `act` for that line without the hook's name, for example to throw or to
/// request a stop. `save_state`, `load_state` and `veto_save` also call their entries, but add no line.
class RecordingHook final : public SessionRunHook {
 public:
  struct Options {
    std::string name = "hook";
    HookPhase phase = HookPhase::Normal;
    SessionRunArgs args{};
    std::optional<std::string> veto{};
  };

  TRAINHOOK_DECL RecordingHook(std::shared_ptr<Trace> trace, Options options);

  /// Actions by callback; the context is null if the callback has none.
  std::map<std::string, std::function<void(SessionRunContext*)>> act;
  std::vector<Tensor> last_results;

  TRAINHOOK_DECL void begin(Graph&) override;
  TRAINHOOK_DECL void after_create_session(SessionRef, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;
  [[nodiscard]] HookPhase phase() const noexcept override { return options_.phase; }
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> veto_save() override;
  [[nodiscard]] std::string name() const override { return options_.name; }
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

  Coordinator* last_coordinator = nullptr;

 private:
  TRAINHOOK_DECL void perform(const std::string& callback, SessionRunContext* context);
  TRAINHOOK_DECL void record(const std::string& callback, SessionRunContext* context, const std::string& detail = {});

  std::shared_ptr<Trace> trace_;
  Options options_;
  int run_ = -1;
};

/// Each callback adds a line to the trace, which other listeners and hooks may share: `a.begin`, `a.before_save 4`,
/// `a.after_save 4`, `a.save_failed 4: DataLoss` (the code, which unlike the message is always the same), `a.end 4`.
/// Then it calls the entry of `act` for that line without name and code, for example to throw or to look at the disk.
class RecordingListener final : public CheckpointSaverListener {
 public:
  TRAINHOOK_DECL explicit RecordingListener(std::shared_ptr<Trace> trace, std::string name = "listener");

  std::map<std::string, std::function<void()>> act;
  std::optional<std::int64_t> stop_after;  ///< requests a stop after the save of this step

  TRAINHOOK_DECL void begin() override;
  TRAINHOOK_DECL void before_save(SessionRef, std::int64_t global_step) override;
  TRAINHOOK_DECL bool after_save(SessionRef, std::int64_t global_step) override;
  TRAINHOOK_DECL void save_failed(SessionRef, std::int64_t global_step, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef, std::int64_t global_step) override;

 private:
  TRAINHOOK_DECL static std::string code_name(const std::exception_ptr& error);
  TRAINHOOK_DECL void record(const std::string& callback, const std::string& detail = {});

  std::shared_ptr<Trace> trace_;
  std::string name_;
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/recording_hook.ipp>
#endif
