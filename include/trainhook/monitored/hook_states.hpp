// SPDX-License-Identifier: Apache-2.0
/// @file
/// HookStates: the state of all hooks of a session as one part of the model's checkpoint.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/monitored/hook_names.hpp>
#include <trainhook/monitored/hooked_session.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::detail {

/// Saves each hook's state and timers under `_trainhook/hooks/<name of the hook>/`, and what hooks have published under
/// `_trainhook/hooks/_metrics/`. State in a checkpoint for a hook that does not exist is kept and saved again.
class HookStates final : public Saveable {
 public:
  /// @param hooks must outlive this, as must `services`
  /// @throws InvalidArgumentError if two hooks have the same name.
  TRAINHOOK_DECL HookStates(const Hooks& hooks, HookServices& services);

  /// Whether to warn of state for a hook that does not exist. It matters little to a session that saves nothing.
  void set_warns_of_missing_hooks(bool warns) noexcept { warns_ = warns; }

  /// For a rank of a job other than the chief: gives the version also of a hook without state, which tells it from one
  /// that the rank does not have, and keeps no state of others, because that is the chief's.
  void set_is_part_of_job() noexcept { is_part_of_job_ = true; }

  static constexpr std::string_view kName = "_trainhook/hooks";

  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  [[nodiscard]] TRAINHOOK_DECL StateValues save() override;
  TRAINHOOK_DECL void load(const StateValues& values) override;

 private:
  static constexpr std::string_view kVersion = "version";
  static constexpr std::string_view kTimer = "_timer_";  // and a number
  static constexpr std::string_view kMetrics = "_metrics";

  [[nodiscard]] TRAINHOOK_DECL static StateValues save(SessionRunHook& hook);
  TRAINHOOK_DECL static void load(SessionRunHook& hook, const StateValues& state);
  TRAINHOOK_DECL void add(StateValues& all, const std::string& name, const StateValues& state) const;

  TRAINHOOK_DECL void load_metric(const NamedTensor& saved);

  HookServices* services_;
  std::map<std::string, SessionRunHook*> hooks_;
  std::map<std::string, StateValues> orphans_;
  bool warns_ = true;
  bool is_part_of_job_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/hook_states.ipp>
#endif
