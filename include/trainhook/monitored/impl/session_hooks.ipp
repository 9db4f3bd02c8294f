// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/session_hooks.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>

namespace trainhook::detail {

std::string hook_name(const SessionRunHook& hook) {
  std::string own = hook.name();
  return own.empty() ? short_type_name(hook) : own;
}

void log_hook_failure(const SessionRunHook& hook, std::string_view callback, const std::exception_ptr& error) noexcept {
  try {
    if (!is_failure(error)) return;
    log_error("hook '{}' failed in {}: {}", hook_name(hook), callback, describe(error));
  } catch (...) {  // the error itself is passed on
  }
}

Hooks in_phases(const HookList& entries) {
  Hooks hooks;
  for (const HookPhase phase : {HookPhase::Check, HookPhase::Normal, HookPhase::Save, HookPhase::Report}) {
    for (const HookEntry& entry : entries) {
      if (entry.get()->phase() != phase) continue;
      if (std::ranges::find(hooks, entry.get()) != hooks.end())
        throw InvalidArgumentError("the same hook is twice in the list of hooks");
      hooks.push_back(entry.get());
    }
  }
  const auto stops_at_step = [](const auto& hook) {
    return dynamic_cast<const StopAtStepHook*>(hook.get()) != nullptr;
  };
  if (std::ranges::count_if(hooks, stops_at_step) > 1)
    log_warning("there are several StopAtStepHooks: the loop ends at the smallest of their last steps");
  return hooks;
}

std::optional<std::string> first_veto(const Hooks& hooks) {
  for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
    if (auto reason = call_hook(*hook, "veto_save", [&] { return hook->veto_save(); })) return reason;
  }
  return std::nullopt;
}

/// Calls a hook for its state. What it throws says in its text which hook it was.
template <class Call>
inline auto call_for_state(const SessionRunHook& hook, std::string_view callback, Call&& call) {
  try {
    return call_hook(hook, callback, std::forward<Call>(call));
  } catch (...) { rethrow_in_context(fmt::format("hook '{}' failed in {}", hook_name(hook), callback)); }
}

inline bool says_what_it_is_about(std::string_view name) { return name.find('(') != std::string_view::npos; }

inline std::string type_in(const std::string& name) { return name.substr(0, name.find('(')); }

HookStates::HookStates(const Hooks& hooks, SessionServices& services) : services_(&services) {
  using Counts = std::map<std::string, std::size_t>;
  Counts of_type;
  Counts about_the_same;
  const auto numbered = [](const std::string& name, Counts& earlier) {
    const std::size_t number = earlier[name]++;
    return number == 0 ? name : fmt::format("{}_{}", name, number);
  };
  for (const auto& hook : hooks) {
    const std::string type = short_type_name(*hook);
    std::string name = hook->name();
    if (name.find('/') != std::string::npos || name == kMetrics)
      throw InvalidArgumentError("hook name '{}' must not contain '/', and not be '{}'", name, kMetrics);
    Entry entry{.hook = hook.get()};
    if (name.empty() || name.starts_with(type + "(")) {
      const std::string own = name.empty() ? type : name;
      entry.by_place = numbered(type, of_type);
      name = numbered(own, about_the_same);
      if (name != own) entry.twin = own;
    }
    if (!entries_.emplace(name, std::move(entry)).second)
      throw InvalidArgumentError("two hooks are called '{}'; give one another name()", name);
  }
}

std::string HookStates::name() const { return std::string(kName); }

StateValues HookStates::save() {
  StateValues all;
  for (const auto& [name, entry] : entries_) {
    const StateValues state = save(name, *entry.hook);
    if (!entry.twin.empty()) expect_told_apart(name, entry, state);
    add(all, name, state);
  }
  for (const auto& [name, state] : orphans_) add(all, name, state);
  if (is_part_of_job_) add(all, std::string(kMetrics), {});
  for (const auto& [name, metric] : services_->metrics()) {
    if (!metric.is_kept) continue;
    all.set(fmt::format("{}/step/{}", kMetrics, name), Tensor(metric.step));
    all.set(fmt::format("{}/value/{}", kMetrics, name), Tensor(metric.value));
    if (metric.is_extra) all.set(fmt::format("{}/extra/{}", kMetrics, name), Tensor(true));
  }
  return all;
}

void HookStates::expect_told_apart(const std::string& name, const Entry& entry, const StateValues& state) {
  if (state.empty()) return;
  const auto is_own = [](const NamedTensor& value) { return !value.name.starts_with(kTimer); };
  if (!says_what_it_is_about(name) && std::ranges::any_of(state.entries(), is_own)) {
    throw InvalidArgumentError(
        "hooks '{0}' and '{1}' have state, and only their order in the list of hooks tells them apart: a restart with "
        "another list would give one the state of the other. Give each a name of its own, name() of your class or "
        ".name of a stock hook; the one that is called '{1}' takes what an earlier version saved under '{1}'",
        entry.twin, name);
  }
  if (std::exchange(has_warned_of_order_, true)) return;
  log_warning(
      "hooks '{}' and '{}' are about the same, so a checkpoint tells them apart by their order in the list of hooks; "
      "give each a name before you change the list",
      entry.twin, name);
}

void HookStates::load(const StateValues& values) {
  StatesByName states;
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
  orphans_.clear();
  services_->restored_metrics().clear();
  std::map<std::string, SessionRunHook*> takers;  // by the name of the saved state
  std::set<std::string> fresh;
  for (const auto& [name, entry] : entries_) {
    for (const auto& timer : HookAccess::timers(*entry.hook)) *timer = {.restored = true};
    if (const std::string saved = name_in(states, name, entry); !saved.empty()) {
      takers.emplace(saved, entry.hook);
    } else {
      fresh.insert(name);
    }
  }
  for (auto& [name, state] : states) {
    if (const auto taker = takers.find(name); taker != takers.end()) {
      load(*taker->second, state);
    } else if (name == kMetrics) {
      for (const NamedTensor& entry : state.entries()) load_metric(entry);
    } else if (!is_part_of_job_) {
      keep(name, std::move(state), fresh);
    }
  }
}

std::string HookStates::name_in(const StatesByName& states, const std::string& name, const Entry& entry) const {
  if (states.contains(name)) return name;
  if (entry.by_place.empty() || entries_.contains(entry.by_place) || !states.contains(entry.by_place)) return {};
  const std::string begin = type_in(name) + "(";
  const auto identified = states.lower_bound(begin);
  return identified != states.end() && identified->first.starts_with(begin) ? std::string() : entry.by_place;
}

void HookStates::keep(const std::string& name, StateValues state, const std::set<std::string>& fresh) {
  const auto is_of_its_type = [&](const std::string& other) { return type_in(other) == type_in(name); };
  const auto is_numbered = [&](const auto& entry) { return entry.second.by_place == name.substr(0, name.rfind('_')); };
  std::string advice;
  if (std::ranges::any_of(entries_, is_numbered)) {
    advice =
        fmt::format(". Hooks of one type are told apart by their order: the one whose name is '{}' takes it", name);
  } else if (const auto other = std::ranges::find_if(fresh, is_of_its_type); other != fresh.end()) {
    advice = fmt::format(". '{}' is about something else, and starts fresh", *other);
  }
  if (warns_)
    log_warning("the checkpoint has state of a hook '{}' that the session does not have; it is kept{}", name, advice);
  orphans_.emplace(name, std::move(state));
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

StateValues HookStates::save(const std::string& name, SessionRunHook& hook) {
  StateValues state = call_for_state(hook, "save_state", [&] { return hook.save_state(); });
  for (const NamedTensor& entry : state.entries()) {
    if (entry.name == kVersion || entry.name.starts_with(kTimer))
      throw InvalidArgumentError("hook '{}': its state has a value '{}', which is a name of the library's own", name,
                                 entry.name);
  }
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
  if (!own.empty()) call_for_state(hook, "load_state", [&] { hook.load_state(own); });
}

void HookStates::add(StateValues& all, const std::string& name, const StateValues& state) const {
  if (state.empty() && !is_part_of_job_) return;
  all.set(fmt::format("{}/{}", name, kVersion), Tensor(static_cast<std::int64_t>(state.version)));
  for (const NamedTensor& entry : state.entries()) all.set(fmt::format("{}/{}", name, entry.name), entry.tensor);
}

SessionHooks::SessionHooks(const HookList& entries, SessionServices& services)
    : hooks_(in_phases(entries)), services_(&services) {}

void SessionHooks::save_with(Graph& graph, bool is_part_of_job) {
  states_ = make_shared_object<HookStates>(hooks_, *services_);
  graph_ = &graph;
  if (is_part_of_job) states_->set_is_part_of_job();
  graph.add_to_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(states_));
}

void SessionHooks::begin(Graph& graph) {
  for (const std::shared_ptr<SessionRunHook>& hook : hooks_) {
    if (!HookAccess::claim(*hook)) {
      throw FailedPreconditionError(
          "a hook, {}, is in another session that is still open; a hook belongs to one session at a time, so close "
          "that session before, or make a hook for each",
          short_type_name(*hook));
    }
    ++claimed_;
    HookAccess::attach(*hook, *services_);
    ++begun_;  // its abort is also called for an error of its own begin
    try {
      hook->begin(graph);
    } catch (Error& error) {  // the session's constructor throws it, so it is reported once
      const std::string name = short_type_name(*hook);
      const std::string text = error.what();
      if (text.find(name) == std::string::npos)
        error = Error(error.code(), "hook '{}' failed in begin: {}", fmt::make_format_args(name, text));
      throw;
    } catch (...) {
      log_hook_failure(*hook, "begin", std::current_exception());
      throw;
    }
  }
  if (states_ != nullptr) states_->set_warns_of_missing_hooks(!graph.offered<CheckpointClaim>().empty());
}

void SessionHooks::end(SessionRef session, std::vector<std::exception_ptr>& errors) {
  for (const std::shared_ptr<SessionRunHook>& hook : hooks_) {
    try {
      services_->activity().note("end", hook.get());
      call_hook(*hook, "end", [&] { hook->end(session); });
    } catch (...) { errors.push_back(std::current_exception()); }
  }
}

void SessionHooks::abort(const std::exception_ptr& error) noexcept {
  for (std::size_t i = begun_; i > 0; --i) hooks_[i - 1]->abort(error);
}

void SessionHooks::leave() noexcept {
  if (states_ != nullptr)
    graph_->remove_from_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(states_));
  states_ = nullptr;
  for (; claimed_ > 0; --claimed_) HookAccess::release(*hooks_[claimed_ - 1]);
}

}  // namespace trainhook::detail
