// SPDX-License-Identifier: Apache-2.0
/// @file
/// HookStates: saves the state of all hooks of a session in the model's checkpoint.
#pragma once

#include <cstddef>
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

/// Saves each hook's state and timers under `_trainhook/hooks/<name of the hook>/`, and published metrics under
/// `_trainhook/hooks/_metrics/`. State of a hook that no longer exists is kept and saved again.
class HookStates final : public Saveable {
 public:
  /// @param hooks must outlive this, as must `services`
  /// @throws InvalidArgumentError if two hooks have the same name.
  TRAINHOOK_DECL HookStates(const Hooks& hooks, SessionServices& services);

  /// Whether to warn about state of a hook that no longer exists, which does not matter if the session saves nothing.
  void set_warns_of_missing_hooks(bool warns) noexcept { warns_ = warns; }

  /// For a rank other than the chief: also saves the version of hooks without state, to distinguish them from hooks
  /// that the rank does not have, and does not keep the state of missing hooks, which the chief does.
  void set_is_part_of_job() noexcept { is_part_of_job_ = true; }

  static constexpr std::string_view kName = "_trainhook/hooks";

  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  [[nodiscard]] TRAINHOOK_DECL StateValues save() override;
  TRAINHOOK_DECL void load(const StateValues& values) override;

 private:
  static constexpr std::string_view kVersion = "version";
  static constexpr std::string_view kTimer = "_timer_";  // followed by a number
  static constexpr std::string_view kMetrics = "_metrics";

  [[nodiscard]] TRAINHOOK_DECL static StateValues save(SessionRunHook& hook);
  TRAINHOOK_DECL static void load(SessionRunHook& hook, const StateValues& state);
  TRAINHOOK_DECL void add(StateValues& all, const std::string& name, const StateValues& state) const;

  TRAINHOOK_DECL void load_metric(const NamedTensor& saved);

  SessionServices* services_;
  const Hooks* hooks_;
  std::map<std::string, std::size_t> places_;  // in hooks_, by name
  std::map<std::string, StateValues> orphans_;
  bool warns_ = true;
  bool is_part_of_job_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/hook_states.ipp>
#endif
