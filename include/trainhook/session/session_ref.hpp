// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionRef: a reference to a session of any engine, for hooks and savers.
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <trainhook/session/run_forms.hpp>
#include <trainhook/session/session_like.hpp>

namespace trainhook {

/// How a graph becomes a part of checkpoints: `graph_export()` of model/ returns it. Each is a detail::GraphPartMaker.
struct GraphExport {};

namespace detail {

struct SessionTable {
  Graph& (*graph)(void*);
  void (*execute)(void*, const RunRequest&, std::span<Tensor>);
  std::vector<StateSpec> (*state)(void*);
  std::vector<NamedTensor> (*snapshot)(void*, std::span<const std::string>);
  void (*load)(void*, std::span<const NamedTensor>);
  void (*close)(void*);
  // Null if the session has no such function:
  Tensor (*saved_value)(void*, std::string_view);
  StateMemory (*memory)(void*, std::string_view);
  void (*load_or_fill)(void*, std::span<const NamedTensor>, FillMemory);
  std::function<Tensor()> (*deferred_value)(void*, std::string_view);
  void (*draw_share)(void*, int number, int count);
  std::string_view (*kernel_width)(void*);
  const GraphExport* (*graph_export)(void*);
};

/// A session that returns the values of a snapshot one at a time.
template <class S>
concept GivesSavedValues = requires(S& session, std::string_view name) {
  { session.saved_value(name) } -> std::same_as<Tensor>;
};

/// `call` for a session of type `S`; null if the call does not take it.
template <class S, class Result, class... Args, class Call>
constexpr auto if_it_has(Call /*call*/) noexcept {
  Result (*function)(void*, Args...) = nullptr;
  if constexpr (std::is_invocable_v<Call, S&, Args...>)
    function = [](void* session, Args... args) -> Result { return Call()(*static_cast<S*>(session), args...); };
  return function;
}

template <SessionLike S>
inline constexpr SessionTable kSessionTable{
    [](void* session) -> Graph& { return static_cast<S*>(session)->graph(); },
    [](void* session, const RunRequest& request, std::span<Tensor> results) {
      static_cast<S*>(session)->execute(request, results);
    },
    [](void* session) { return static_cast<S*>(session)->state(); },
    [](void* session, std::span<const std::string> names) { return static_cast<S*>(session)->snapshot(names); },
    [](void* session, std::span<const NamedTensor> entries) { static_cast<S*>(session)->load(entries); },
    [](void* session) { static_cast<S*>(session)->close(); },
    if_it_has<S, Tensor, std::string_view>(
        []<GivesSavedValues T>(T& session, std::string_view name) { return session.saved_value(name); }),
    if_it_has<S, StateMemory, std::string_view>(
        [](auto& session, std::string_view name) requires requires { session.memory(name); } {
          return session.memory(name);
        }),
    if_it_has<S, void, std::span<const NamedTensor>, FillMemory>(
        [](auto& session, std::span<const NamedTensor> entries, FillMemory fill) requires requires {
          session.load(entries, fill);
        } { session.load(entries, fill); }),
    if_it_has<S, std::function<Tensor()>, std::string_view>(
        [](auto& session, std::string_view name) requires requires { session.deferred_value(name); } {
          return session.deferred_value(name);
        }),
    if_it_has<S, void, int, int>(
        [](auto& session, int number, int count) requires requires { session.draw_share(number, count); } {
          session.draw_share(number, count);
        }),
    if_it_has<S, std::string_view>(
        [](auto& session) requires requires { session.kernel_width(); } { return session.kernel_width(); }),
    if_it_has<S, const GraphExport*>(
        [](auto& session) requires requires { session.graph_export(); } { return session.graph_export(); }),
};

}  // namespace detail

/// Refers to a session of any engine and does not own it. Runs through it call no hooks.
class SessionRef : public RunForms<SessionRef, true> {
 public:
  constexpr SessionRef() noexcept = default;
  template <SessionLike S>
    requires(!std::same_as<S, SessionRef>)
  SessionRef(S& session) noexcept : session_(&session), table_(&detail::kSessionTable<S>) {}

  [[nodiscard]] bool has_value() const noexcept { return session_ != nullptr; }
  [[nodiscard]] Graph& graph() const { return table_->graph(session_); }
  void execute(const RunRequest& request, std::span<Tensor> results) const {
    table_->execute(session_, request, results);
  }
  [[nodiscard]] std::vector<StateSpec> state() const { return table_->state(session_); }
  [[nodiscard]] std::vector<NamedTensor> snapshot(std::span<const std::string> names) const {
    return table_->snapshot(session_, names);
  }
  // The rest is what a session need not have.

  /// True if the session has a `saved_value(name)`, which returns one value of a snapshot without keeping a copy, for
  /// an engine whose snapshot copies elements. A save on the caller's thread then needs memory for only one value.
  [[nodiscard]] bool gives_saved_values() const noexcept { return table_->saved_value != nullptr; }
  [[nodiscard]] Tensor saved_value(std::string_view name) const { return table_->saved_value(session_, name); }

  /// The elements of a variable in the memory of the engine's caller; none if they are not there in row-major order, or
  /// the session has no such function.
  [[nodiscard]] StateMemory memory(std::string_view name) const {
    return table_->memory == nullptr ? StateMemory() : table_->memory(session_, name);
  }

  /// Only for a session with a `memory`: to an entry without a value it gives one by `fill`, which may write half of it
  /// and throw. Saves on the caller's thread and restores of parts of tensors then need no memory for a copy.
  void load(std::span<const NamedTensor> entries, FillMemory fill) const {
    table_->load_or_fill(session_, entries, fill);
  }

  /// For values on a device: copies one value of a snapshot there, and returns a function that brings the copy to the
  /// host, on any thread, also after the session. Empty if the session does not do so with this value, such as one of
  /// kind `Input`, or has no such function. A save in the background then lets training go on at once.
  [[nodiscard]] std::function<Tensor()> deferred_value(std::string_view name) const {
    if (table_->deferred_value == nullptr) return {};
    return table_->deferred_value(session_, name);
  }

  /// For an engine that draws random numbers: called before the first step if `count` sessions train one model, so that
  /// each draws other numbers. This one is number `number`.
  void draw_share(int number, int count) const {
    if (table_->draw_share != nullptr) table_->draw_share(session_, number, count);
  }

  /// For an engine that chooses its code by the processor: the name of the choice, such as "avx2"; empty if there is
  /// none. A run that resumes with another one logs that its numbers will differ in their last bits.
  [[nodiscard]] std::string_view kernel_width() const {
    return table_->kernel_width == nullptr ? std::string_view() : table_->kernel_width(session_);
  }

  /// For an engine whose graph is of use to TensorFlow: how savers write it beside their checkpoints; null if they do
  /// not.
  [[nodiscard]] const GraphExport* graph_export() const {
    return table_->graph_export == nullptr ? nullptr : table_->graph_export(session_);
  }

  void load(std::span<const NamedTensor> entries) const { table_->load(session_, entries); }
  void close() const { table_->close(session_); }

  /// The session. `S` must be its exact type.
  template <SessionLike S>
  [[nodiscard]] S& as() const noexcept {
    return *static_cast<S*>(session_);
  }

  /// Identifies the session as long as it lives.
  [[nodiscard]] const void* id() const noexcept { return session_; }

  void run_request(const RunRequest& request, std::span<Tensor> results) const { execute(request, results); }
  friend bool operator==(SessionRef a, SessionRef b) noexcept { return a.session_ == b.session_; }

 private:
  void* session_ = nullptr;
  const detail::SessionTable* table_ = nullptr;
};

}  // namespace trainhook
