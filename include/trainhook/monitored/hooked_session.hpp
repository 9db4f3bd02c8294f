// SPDX-License-Identifier: Apache-2.0
/// @file
/// HookedSession: calls the hooks around each run and merges their requests into one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/monitored/merged_run.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::detail {

using Hooks = std::vector<std::shared_ptr<SessionRunHook>>;

/// Sorts hooks by phase, and within a phase in the order of the list. @throws InvalidArgumentError if a hook occurs
/// twice.
[[nodiscard]] TRAINHOOK_DECL Hooks in_phases(const HookList& entries);

/// The reason of the first hook that vetoes a save; nothing if none does.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> first_veto(const Hooks& hooks);

/// Returns true if a session is recreated after the error.
using IsLoss = std::function<bool(const std::exception_ptr& error)>;

/// True for the errors after which a session is recreated: AbortedError and UnavailableError, as in TensorFlow.
[[nodiscard]] inline bool is_preemption(const std::exception_ptr& error) noexcept {
  return is_any_of<AbortedError, UnavailableError>(error);
}

/// Runs a session with hooks, which are called in the order of the list. Reuses the memory of the merged request, so a
/// step does not allocate. Not thread-safe, but hooks and the user's step may make nested runs.
class HookedSession {
 public:
  /// Does not own `hooks` and `services`; both must outlive this.
  TRAINHOOK_DECL HookedSession(SessionRef session, const Hooks& hooks, SessionServices& services,
                               IsLoss is_loss = is_preemption);

  [[nodiscard]] SessionRef session() const noexcept { return session_; }
  [[nodiscard]] bool should_stop() const noexcept { return stop_since_.has_value(); }

  /// The global step at which a hook requested a stop. The request holds from there on: a recovery that goes back
  /// behind it drops the request. `kAlways` if it does not depend on a step; nothing without a request.
  [[nodiscard]] std::optional<std::int64_t> stop_since() const noexcept { return stop_since_; }
  static constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::lowest();

  /// Has the same effect as a hook's stop request: no further run. The earliest step of several requests counts.
  void request_stop(std::int64_t since = kAlways) noexcept {
    stop_since_ = (std::min)(since, stop_since_.value_or(since));
  }
  void request_stop(std::string reason) {
    services_->set_stop_reason(std::move(reason));
    request_stop();
  }

  /// True if the stop was requested on every rank of the job at the same step.
  [[nodiscard]] bool stops_on_all_ranks() const noexcept { return should_stop() && stops_on_all_ranks_; }

  /// Withdraws a stop request that other ranks do not know yet; returns whether there was one.
  bool take_back_stop() noexcept { return std::exchange(stop_since_, std::nullopt).has_value(); }

  /// Calls each hook's `before_run`, makes one merged run, calls each hook's `after_run`, and stores the user's part of
  /// the results in `results`.
  /// @throws FailedPreconditionError if a stop was requested before, or if two hooks, or a hook and the user, feed the
  /// same tensor.
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);

 private:
  // The progress of a run: the numbers of hooks that have completed `before_run` and `after_run`.
  struct Progress {
    std::size_t asked = 0;
    std::size_t told = 0;
    std::string_view callback{};              // the current callback; empty: none
    const SessionRunHook* stopper = nullptr;  // the first hook that requested a stop
    std::int64_t stop_since = kAlways;        // see the member function
  };

  void expect_here() const { services_->process().expect_here("this session"); }
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results, MergedRun& merged);
  TRAINHOOK_DECL void tell_of_failure(SessionRunContext& context, Progress progress,
                                      const std::exception_ptr& error) noexcept;

  // Notes the first stop request of a run: call it after a hook's `before_run` or `after_run`, even if it threw.
  TRAINHOOK_DECL static void note_stop(SessionRunContext& context, const SessionRunHook& hook,
                                       Progress& progress) noexcept;
  TRAINHOOK_DECL void take_stop(const SessionRunContext& context, const Progress& progress);
  [[nodiscard]] TRAINHOOK_DECL const SessionRunHook& hook_of(const Progress& progress) const;  // whose callback runs

  SessionRef session_;
  const Hooks* hooks_;
  SessionServices* services_;
  IsLoss is_loss_;
  std::optional<Variable> global_step_;
  MergedRun merged_;
  bool is_running_ = false;
  std::optional<std::int64_t> stop_since_;
  bool stops_on_all_ranks_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/hooked_session.ipp>
#endif
