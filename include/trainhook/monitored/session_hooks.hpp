// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionHooks: the hooks of one session, from the first `begin` to the last `end` or `abort`.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/hooked_session.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class Graph;

namespace detail {

class HookStates;

/// Owns the hooks of a session and records which of them it has claimed and begun, so that an end at any point calls
/// the right ones. Also adds their state to the graph, for the graph's savers.
class SessionHooks {
 public:
  /// @param services must outlive this
  /// @throws InvalidArgumentError if a hook occurs twice in the list.
  TRAINHOOK_DECL SessionHooks(const HookList& entries, SessionServices& services);
  SessionHooks(const SessionHooks&) = delete;
  SessionHooks& operator=(const SessionHooks&) = delete;

  /// All hooks, in the order of their calls.
  [[nodiscard]] Hooks& all() noexcept { return hooks_; }
  [[nodiscard]] const Hooks& all() const noexcept { return hooks_; }

  /// Adds the hooks' state to the graph's checkpoints. Call it before `begin`. The graph must exist until `leave`.
  /// @param is_part_of_job for a rank of a job other than the chief
  /// @throws InvalidArgumentError if two hooks have the same name.
  TRAINHOOK_DECL void save_with(Graph& graph, bool is_part_of_job);

  /// Claims each hook and calls its `begin`. @throws FailedPreconditionError if another session has one of them, and
  /// the errors of `begin`.
  TRAINHOOK_DECL void begin(Graph& graph);

  /// Calls `end` of every hook, even after one has thrown, and adds their exceptions to `errors`.
  TRAINHOOK_DECL void end(SessionRef session, std::vector<std::exception_ptr>& errors);

  /// Calls `abort` of the hooks whose `begin` was called, last hook first.
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept;

  /// Removes the state from the graph and releases the hooks for other sessions.
  TRAINHOOK_DECL void leave() noexcept;

 private:
  Hooks hooks_;
  SessionServices* services_;
  std::shared_ptr<HookStates> states_;  // null: no state is in a graph
  Graph* graph_ = nullptr;              // the graph with the state
  std::size_t claimed_ = 0;             // the number of claimed hooks
  std::size_t begun_ = 0;               // the number of hooks whose `begin` was called
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_hooks.ipp>
#endif
