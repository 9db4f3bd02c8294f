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

/// Owns the hooks of a session and knows which of them it has claimed and begun, so that an end at any point reaches
/// the right ones. It also puts their state into the graph, for the graph's savers.
class SessionHooks {
 public:
  /// @param services must outlive this
  /// @throws InvalidArgumentError if a hook is twice in the list.
  TRAINHOOK_DECL SessionHooks(const HookList& entries, HookServices& services);
  SessionHooks(const SessionHooks&) = delete;
  SessionHooks& operator=(const SessionHooks&) = delete;

  /// All of them, in the order in which they are called.
  [[nodiscard]] Hooks& all() noexcept { return hooks_; }
  [[nodiscard]] const Hooks& all() const noexcept { return hooks_; }

  /// Makes the state of the hooks a part of the graph's checkpoints. Call it before `begin`. The graph must live until
  /// `leave`.
  /// @param is_part_of_job for a rank of a job other than the chief
  /// @throws InvalidArgumentError if two hooks have the same name.
  TRAINHOOK_DECL void save_with(Graph& graph, bool is_part_of_job);

  /// Claims each hook and calls its `begin`. @throws FailedPreconditionError if another session has one of them, or
  /// what a `begin` throws.
  TRAINHOOK_DECL void begin(Graph& graph);

  /// Calls `end` of each hook, also after one has thrown, and adds what they throw to `errors`.
  TRAINHOOK_DECL void end(SessionRef session, std::vector<std::exception_ptr>& errors);

  /// Calls `abort` of the hooks whose `begin` was called, last hook first.
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept;

  /// Takes the state out of the graph, and gives the hooks back, so that another session can have them.
  TRAINHOOK_DECL void leave() noexcept;

 private:
  Hooks hooks_;
  HookServices* services_;
  std::shared_ptr<HookStates> states_;  // null: nothing is in a graph
  Graph* graph_ = nullptr;              // that has the state
  std::size_t claimed_ = 0;             // hooks that are this session's
  std::size_t begun_ = 0;               // hooks whose `begin` was called
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_hooks.ipp>
#endif
