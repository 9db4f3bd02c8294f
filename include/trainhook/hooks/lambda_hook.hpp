// SPDX-License-Identifier: Apache-2.0
/// @file
/// LambdaHook: a hook from functions.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

namespace detail {

/// A function of a LambdaHook.
template <class Signature>
class CallbackFunction : public std::function<Signature> {
 public:
  using std::function<Signature>::function;
  CallbackFunction(std::function<Signature> function) : std::function<Signature>(std::move(function)) {}
  TRAINHOOK_MISTAKE(
      "this function of a LambdaHook has other parameters, or another result, than its callback: compare it with "
      "LambdaHook::Options, and write for example .after_run = [&](auto& context, const auto& values) { ... }",
      class Function)
  CallbackFunction(const Function& function)
    requires(!std::is_convertible_v<const Function&, std::function<Signature>>)
  TRAINHOOK_REFUSED;
};

}  // namespace detail

/// Calls a function in each callback; a missing function does nothing. It suits a few lines at the place where the
/// session is created; write a class for a hook with state or options. SessionRunHook says when each callback is
/// called, on which thread, and what its exceptions do.
///
///     .hooks = {th::LambdaHook({.before_run = [&](auto&) -> th::SessionRunArgs { return {loss}; },
///                               .after_run = [&](auto&, const auto& values) { plot(values.results[0]); }})}
class LambdaHook final : public SessionRunHook {
 public:
  struct Options {
    detail::CallbackFunction<void(Graph&)> begin{};
    detail::CallbackFunction<void(SessionRef, Coordinator&)> after_create_session{};
    detail::CallbackFunction<SessionRunArgs(SessionRunContext&)> before_run{};  ///< returns the fetches for `after_run`
    detail::CallbackFunction<void(SessionRunContext&, const SessionRunValues&)> after_run{};
    detail::CallbackFunction<void(SessionRunContext&, const std::exception_ptr&)> on_run_failed{};
    detail::CallbackFunction<void(SessionRef)> end{};
    detail::CallbackFunction<void(const std::exception_ptr&)> abort{};  ///< its exceptions are logged
    detail::CallbackFunction<std::optional<std::string>()> veto_save{};
    detail::CallbackFunction<StateValues()> save_state{};
    detail::CallbackFunction<void(const StateValues&)> load_state{};
    HookPhase phase = HookPhase::Normal;
    bool writes_variables = false;  ///< a function changes variables of the model
    std::string name{};             ///< of its state in checkpoints; set it if several LambdaHooks have state
  };

  /// @throws InvalidArgumentError if there is no function, or only one of `save_state` and `load_state`.
  TRAINHOOK_DECL explicit LambdaHook(Options options);
  TRAINHOOK_DECL LambdaHook(LambdaHook&& other) noexcept;
  TRAINHOOK_DECL ~LambdaHook() override;

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;
  [[nodiscard]] HookPhase phase() const noexcept override { return functions_.phase; }
  [[nodiscard]] bool writes_variables() const override { return functions_.writes_variables; }
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> veto_save() override;
  [[nodiscard]] std::string name() const override { return functions_.name; }
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  Options functions_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/lambda_hook.ipp>
#endif
