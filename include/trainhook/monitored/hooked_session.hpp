// SPDX-License-Identifier: Apache-2.0
/// @file
/// HookedSession: one run with all hooks around it, merged into a single request.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::detail {

using Hooks = std::vector<std::shared_ptr<SessionRunHook>>;

/// Runs a session with hooks, which are called in the order of the list. The memory of the merged request is reused, so
/// that a step allocates nothing. For one thread at a time.
class HookedSession {
 public:
  /// Neither `hooks` nor `services` is owned; both must outlive this.
  TRAINHOOK_DECL HookedSession(SessionRef session, const Hooks& hooks, HookServices& services);

  [[nodiscard]] SessionRef session() const noexcept { return session_; }
  [[nodiscard]] bool should_stop() const noexcept { return stop_; }

  /// Has the effect of a hook's stop request: no further run.
  void request_stop() noexcept { stop_ = true; }

  /// Calls each hook's `before_run`, makes one merged run, calls each hook's `after_run`, and returns the user's part
  /// of the results.
  /// @throws FailedPreconditionError if a stop was requested before, or if two hooks, or a hook and the user, feed the
  /// same tensor.
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);

 private:
  struct Slice {
    std::size_t begin;
    std::size_t count;
  };

  TRAINHOOK_DECL void begin_merge(const RunRequest& request);
  TRAINHOOK_DECL void merge(const SessionRunArgs& args);
  TRAINHOOK_DECL void check_user_feeds(const RunRequest& request);
  TRAINHOOK_DECL void execute(const RunRequest& request);
  TRAINHOOK_DECL void call_after_run(SessionRunContext& context);
  TRAINHOOK_DECL void tell_of_failure(SessionRunContext& context, std::size_t asked,
                                      const std::exception_ptr& error) noexcept;

  // A handle kept here would make the next step copy the variable before writing it.
  TRAINHOOK_DECL void release_results() noexcept;

  SessionRef session_;
  const Hooks* hooks_;
  HookServices* services_;
  std::optional<Variable> global_step_;
  std::vector<Fetch> fetches_;
  std::vector<Feed> feeds_;
  std::vector<Slice> slices_;
  std::vector<Tensor> results_;
  std::optional<RunOptions> options_;
  const RunOptions no_options_{};
  RunMetadata metadata_;
  RunMetadata* used_metadata_ = nullptr;
  bool stop_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/hooked_session.ipp>
#endif
