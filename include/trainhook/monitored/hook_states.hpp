// SPDX-License-Identifier: Apache-2.0
/// @file
/// HookStates: the state of all hooks of a session as one part of the model's checkpoint.
#pragma once

#include <cstdint>
#include <cxxabi.h>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/monitored/hooked_session.hpp>

namespace trainhook {

namespace detail {

/// `trainhook::StopAtStepHook` as `StopAtStepHook`, `my::Hook<std::string>` as `Hook`: without scopes and template arguments.
inline std::string short_type_name(const std::string& name) {
  std::size_t end = name.size();
  int depth = 0;  // of the brackets to the right, whose colons are those of an argument
  for (std::size_t i = name.size(); i > 0; --i) {
    const char c = name[i - 1];
    if (c == '>' || c == ')') ++depth;
    if (c == '<' || c == '(') --depth;
    if (c == '<' && depth == 0) end = i - 1;
    if (c == ':' && depth == 0) return name.substr(i, end - i);
  }
  return name.substr(0, end);
}

inline std::string short_type_name(const SessionRunHook& hook) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(typeid(hook).name(), nullptr, nullptr, &status), std::free);
  return short_type_name(std::string(status == 0 ? demangled.get() : typeid(hook).name()));
}

}  // namespace detail

/// Stores each hook's state under `_trainhook/hooks/<name of the hook>/`. What a checkpoint holds for a hook that is not there is kept and
/// stored again.
class HookStates final : public Saveable {
 public:
  /// `hooks` must outlive this. @throws InvalidArgumentError where two hooks have the same name.
  explicit HookStates(const Hooks& hooks) {
    std::map<std::string, int> unnamed;
    for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
      std::string name = hook->name();
      if (name.empty()) {
        name = detail::short_type_name(*hook);
        if (const int earlier = unnamed[name]++; earlier > 0) name = str_cat(name, "_", earlier);
      }
      if (name.find('/') != std::string::npos) throw InvalidArgumentError("hook name '", name, "' must not contain '/'");
      if (!hooks_.emplace(name, hook.get()).second)
        throw InvalidArgumentError("two hooks are called '", name, "'; give one another name()");
    }
  }

  [[nodiscard]] std::string name() const override { return "_trainhook/hooks"; }

  [[nodiscard]] StateValues save() override {
    StateValues all;
    for (const auto& [name, hook] : hooks_) add(all, name, hook->save_state());
    for (const auto& [name, state] : orphans_) add(all, name, state);
    return all;
  }

  void load(const StateValues& values) override {
    std::map<std::string, StateValues> states;
    for (const NamedTensor& entry : values.entries()) {
      const std::size_t slash = entry.name.find('/');
      if (slash == std::string::npos) throw DataLossError("the saved hook state '", entry.name, "' has no name of its own");
      StateValues& state = states[entry.name.substr(0, slash)];
      const std::string key = entry.name.substr(slash + 1);
      if (key == kVersion) {
        state.version = static_cast<int>(entry.tensor.scalar<std::int64_t>());
      } else {
        state.set(key, entry.tensor);
      }
    }
    orphans_.clear();
    for (auto& [name, state] : states) {
      if (const auto hook = hooks_.find(name); hook != hooks_.end()) {
        hook->second->load_state(state);
      } else {
        const bool numbered = hooks_.contains(name.substr(0, name.rfind('_')));
        log_warning("the checkpoint holds state of a hook '", name, "' that is not there; it is kept",
                    numbered ? ". Hooks of one type are told apart by their order: give each a name() of its own" : "");
        orphans_.emplace(name, std::move(state));
      }
    }
  }

 private:
  static constexpr std::string_view kVersion = "version";

  static void add(StateValues& all, const std::string& name, const StateValues& state) {
    if (state.empty()) return;
    all.set(str_cat(name, "/", kVersion), Tensor(static_cast<std::int64_t>(state.version)));
    for (const NamedTensor& entry : state.entries()) all.set(str_cat(name, "/", entry.name), entry.tensor);
  }

  std::map<std::string, SessionRunHook*> hooks_;
  std::map<std::string, StateValues> orphans_;
};

}  // namespace trainhook
