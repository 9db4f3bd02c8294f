// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of hook_states.hpp.
#pragma once

#include <trainhook/monitored/hook_states.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

HookStates::HookStates(const Hooks& hooks, SessionServices& services) : services_(&services), hooks_(&hooks) {
  std::map<std::string, std::size_t> unnamed;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    std::string name = hooks[i]->name();
    if (name.empty()) {
      name = short_type_name(*hooks[i]);
      if (const std::size_t earlier = unnamed[name]++; earlier > 0) name = fmt::format("{}_{}", name, earlier);
    }
    if (name.find('/') != std::string::npos) throw InvalidArgumentError("hook name '{}' must not contain '/'", name);
    if (!places_.emplace(name, i).second)
      throw InvalidArgumentError("two hooks are called '{}'; give one another name()", name);
  }
}

std::string HookStates::name() const { return std::string(kName); }

StateValues HookStates::save() {
  StateValues all;
  for (const auto& [name, place] : places_) add(all, name, save(*(*hooks_)[place]));
  for (const auto& [name, state] : orphans_) add(all, name, state);
  if (is_part_of_job_) add(all, std::string(kMetrics), {});
  for (const auto& [name, metric] : services_->metrics()) {
    all.set(fmt::format("{}/step/{}", kMetrics, name), Tensor(metric.step));
    all.set(fmt::format("{}/value/{}", kMetrics, name), Tensor(metric.value));
    if (metric.is_extra) all.set(fmt::format("{}/extra/{}", kMetrics, name), Tensor(true));
  }
  return all;
}

void HookStates::load(const StateValues& values) {
  std::map<std::string, StateValues> states;
  for (const NamedTensor& entry : values.entries()) {
    const std::size_t slash = entry.name.find('/');
    if (slash == std::string::npos) throw DataLossError("the saved hook state '{}' has no name of its own", entry.name);
    StateValues& state = states[entry.name.substr(0, slash)];
    const std::string key = entry.name.substr(slash + 1);
    if (key == kVersion) {
      state.version = static_cast<int>(entry.tensor.scalar<std::int64_t>());
    } else {
      state.set(key, entry.tensor);
    }
  }
  for (const auto& [name, place] : places_) {
    for (const auto& timer : HookAccess::timers(*(*hooks_)[place])) *timer = {.restored = true};
  }
  orphans_.clear();
  services_->restored_metrics().clear();
  for (auto& [name, state] : states) {
    if (const auto found = places_.find(name); found != places_.end()) {
      load(*(*hooks_)[found->second], state);
    } else if (name == kMetrics) {
      for (const NamedTensor& entry : state.entries()) load_metric(entry);
    } else if (!is_part_of_job_) {
      const bool numbered = places_.contains(name.substr(0, name.rfind('_')));
      if (warns_)
        log_warning("the checkpoint has state of a hook '{}' that the session does not have; it is kept{}", name,
                    numbered ? ". Hooks of one type are told apart by their order: give each a unique name()" : "");
      orphans_.emplace(name, std::move(state));
    }
  }
}

void HookStates::load_metric(const NamedTensor& saved) {
  const std::size_t slash = saved.name.find('/');  // behind "step", "value" or "extra"
  PublishedMetric& metric = SessionServices::entry(services_->restored_metrics(), saved.name.substr(slash + 1));
  if (saved.tensor.dtype() == DType::Int64) {
    metric.step = saved.tensor.scalar<std::int64_t>();
  } else if (saved.tensor.dtype() == DType::Bool) {
    metric.is_extra = saved.tensor.scalar<bool>();
  } else {
    metric.value = saved.tensor.scalar<double>();
  }
}

StateValues HookStates::save(SessionRunHook& hook) {
  StateValues state = call_hook(hook, "save_state", [&] { return hook.save_state(); });
  for (std::size_t i = 0; i < HookAccess::timers(hook).size(); ++i) {
    if (const auto step = HookAccess::timers(hook)[i]->step) state.set(fmt::format("{}{}", kTimer, i), Tensor(*step));
  }
  return state;
}

void HookStates::load(SessionRunHook& hook, const StateValues& state) {
  StateValues own;
  own.version = state.version;
  for (const NamedTensor& entry : state.entries()) {
    if (!entry.name.starts_with(kTimer)) own.set(entry.name, entry.tensor);
  }
  for (std::size_t i = 0; i < HookAccess::timers(hook).size(); ++i) {
    if (const Tensor* step = state.find(fmt::format("{}{}", kTimer, i)))
      HookAccess::timers(hook)[i]->step = step->scalar<std::int64_t>();
  }
  if (!own.empty()) call_hook(hook, "load_state", [&] { hook.load_state(own); });
}

void HookStates::add(StateValues& all, const std::string& name, const StateValues& state) const {
  if (state.empty() && !is_part_of_job_) return;
  all.set(fmt::format("{}/{}", name, kVersion), Tensor(static_cast<std::int64_t>(state.version)));
  for (const NamedTensor& entry : state.entries()) all.set(fmt::format("{}/{}", name, entry.name), entry.tensor);
}

}  // namespace trainhook::detail
