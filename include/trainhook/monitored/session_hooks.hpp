// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionHooks: the hooks of one session, their order, which of them have begun, and their names in messages.
/// HookStates: their state in the model's checkpoint.
#pragma once

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class Graph;

namespace detail {

/// The hook's own name, or else that of its type.
[[nodiscard]] TRAINHOOK_DECL std::string hook_name(const SessionRunHook& hook);

/// Logs which hook an error comes from, if it is a failure, see `is_failure`. An Error of `begin`,
/// which leaves the session's constructor, names the hook itself.
TRAINHOOK_DECL void log_hook_failure(const SessionRunHook& hook, std::string_view callback,
                                     const std::exception_ptr& error) noexcept;

/// Calls a hook and logs its failure.
template <class Call>
decltype(auto) call_hook(const SessionRunHook& hook, std::string_view callback, Call&& call) {
  try {
    return call();
  } catch (...) {
    log_hook_failure(hook, callback, std::current_exception());
    throw;
  }
}

using Hooks = std::vector<std::shared_ptr<SessionRunHook>>;

/// Sorts hooks by phase, and within a phase in the order of the list. @throws InvalidArgumentError if a hook occurs
/// twice.
[[nodiscard]] TRAINHOOK_DECL Hooks in_phases(const HookList& entries);

/// The reason of the first hook that vetoes a save; nothing if none does.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> first_veto(const Hooks& hooks);

/// Saves each hook's state and timers under `_trainhook/hooks/<name of the hook>/`, and published metrics under
/// `_trainhook/hooks/_metrics/`. A hook takes only state of its name; what no hook takes is kept and saved again.
///
/// Hooks without a name of their own are called by their type and what they are about, `EarlyStoppingHook(eval:loss,
/// lower)`; those that are about the same are numbered, and may not have state that only a number tells apart (timers
/// alone: a warning). Version 0.2 numbered all hooks of one type in the order of the list: that state is taken by
/// place, if the checkpoint has none by what the type is about.
class HookStates final : public Saveable {
 public:
  /// @param hooks must outlive this, as must `services`
  /// @throws InvalidArgumentError if two hooks have the same name, or one has a '/' in it.
  TRAINHOOK_DECL HookStates(const Hooks& hooks, SessionServices& services);

  /// Whether to warn about state of a hook that no longer exists, which does not matter if the session saves nothing.
  void set_warns_of_missing_hooks(bool warns) noexcept { warns_ = warns; }

  /// For a rank other than the chief: also saves the version of hooks without state, to distinguish them from hooks
  /// that the rank does not have, and does not keep the state of missing hooks, which the chief does.
  void set_is_part_of_job() noexcept { is_part_of_job_ = true; }

  static constexpr std::string_view kName = "_trainhook/hooks";

  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;

  /// @throws InvalidArgumentError if only their order would tell two hooks with state apart.
  [[nodiscard]] TRAINHOOK_DECL StateValues save() override;
  TRAINHOOK_DECL void load(const StateValues& values) override;

 private:
  static constexpr std::string_view kVersion = "version";
  static constexpr std::string_view kTimer = "_timer_";  // followed by a number
  static constexpr std::string_view kMetrics = "_metrics";

  using StatesByName = std::map<std::string, StateValues>;

  struct Entry {
    SessionRunHook* hook = nullptr;
    std::string by_place{};  // what version 0.2 called it; empty: it has a name of its own
    std::string twin{};      // the first of the hooks without a name of their own that are about the same
  };

  [[nodiscard]] TRAINHOOK_DECL static StateValues save(const std::string& name, SessionRunHook& hook);
  TRAINHOOK_DECL static void load(SessionRunHook& hook, const StateValues& state);
  TRAINHOOK_DECL void expect_told_apart(const std::string& name, const Entry& entry, const StateValues& state);

  // The name of the state that the hook takes; empty: none.
  [[nodiscard]] TRAINHOOK_DECL std::string name_in(const StatesByName& states, const std::string& name,
                                                   const Entry& entry) const;
  TRAINHOOK_DECL void keep(const std::string& name, StateValues state, const std::set<std::string>& fresh);
  TRAINHOOK_DECL void add(StateValues& all, const std::string& name, const StateValues& state) const;

  TRAINHOOK_DECL void load_metric(const NamedTensor& saved);

  SessionServices* services_;
  std::map<std::string, Entry> entries_;  // by name
  StatesByName orphans_;
  bool warns_ = true;
  bool has_warned_of_order_ = false;
  bool is_part_of_job_ = false;
};

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
