// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionRunHook: the class to derive from to take part in a training loop.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Coordinator;
class HookServices;

namespace detail {

class HookAccess;

/// When a timer last triggered; saved in checkpoints with the state of the timer's hook.
struct TimerMark {
  std::optional<std::int64_t> step{};
  std::optional<Duration> time{};  ///< monotonic; only of this process
  bool restored = false;           ///< from a checkpoint, before the first run of the session
};

/// What `{}` is for a hook that needs no options; `SignalHook({})` could be given options or a copy of itself
/// otherwise.
enum class NoOptions {};

}  // namespace detail

/// The order of hooks, in every callback: by phase, and within a phase in the order they were given.
enum class HookPhase {
  Check,   ///< checks a step's result before other hooks use it; may veto a save
  Normal,  ///< everything else
  Save,    ///< saves the results of the others
  Report,  ///< comes after the last checkpoint, which does not contain what these hooks run at the end
};

// clang-format off
/// Takes part in a training loop through callbacks. All of them do nothing unless overridden. Hooks are called on the
/// thread that calls the monitored session, one callback at a time. A hook belongs to one session at a time; a second
/// session refuses it. A callback may run the monitored session itself: such a nested run calls all hooks, and its
/// error leaves the callback unless the callback catches it. Source: TensorFlow's `SessionRunHook`; `abort`,
/// `on_run_failed`, `phase`, `veto_save`, `writes_to`, `writes_variables`, `save_state` and `load_state` are additions.
///
/// How a step ends:
///
/// | the step ended by | after_run | on_run_failed | the session afterwards |
/// |---|---|---|---|
/// | normal return | all hooks | | continues |
/// | a hook called `request_stop()` | all hooks of this step | | `should_stop()` is true, even if something later in the run threw, unless the session is recreated at an earlier step: then the hook is asked again |
/// | AbortedError, UnavailableError thrown by an after_run | those before it | it and those after it, once | recreated; the step is run again, unless a stop request holds |
/// | AbortedError, UnavailableError | none for that attempt | all that ran before_run | recreated from the newest good checkpoint, within the retry policy; the step is run again, unless a stop request holds |
/// | any other exception | none further | all that ran before_run | the exception leaves `run()`, or an earlier one of a thread; the session stays usable |
///
/// How a session ends:
///
/// | the session ended by | end | abort | last checkpoint | the caller sees |
/// |---|---|---|---|---|
/// | `close()` | every hook, even if one throws | no | yes | the first error, all of them in `errors()`; a second `close()` does nothing |
/// | end of input leaving the loop function | every hook | no | yes | the loop function returns |
/// | another exception leaving the loop function | no | every hook, last first, with the error | no | that exception, or an earlier one of a thread |
/// | a thread's error that `should_stop()` saw first, then `close()` or the loop function | no | every hook, last first, with it | no | that error |
/// | a hook's own `begin` throws | no | that hook and those begun, last first | no | that error |
/// | `close()` or destructor of a session that is lost for good | no | every hook, with the error that it was lost to | no | that error, unless it has left `run()` already |
/// | destructor, not unwinding | as `close()`, errors logged | no | yes | nothing |
/// | destructor, unwinding from the end of input that `run()` threw | as `close()`, errors logged | no | yes | the exception continues |
/// | destructor, unwinding otherwise | no | every hook, with the error that `run()` threw last, or null | no | the original exception |
///
/// With `save_on_exception`, a saver hook saves the last step also where the table says no, before the first `abort`,
/// unless a step has failed, so that the model may be in the middle of it, or several processes train.
///
/// A stop that the program, a background thread or a signal requested holds after every recovery.
///
/// `close()` in a callback or in the step takes effect after the run, which still returns its value. Nothing tells a
/// destructor which exception unwinds. If the caller of `run()` has handled the end of input, or another error after
/// which it called `should_stop()`, `abort` gets null; otherwise it gets the error that `run()` threw last, and a type
/// derived from OutOfRangeError ends the session as the end of input does. The loop functions know the error.
// clang-format on
class SessionRunHook {
 public:
  TRAINHOOK_DECL virtual ~SessionRunHook();

  /// Called once, before the session exists. The graph can still be changed; look up names here. Not called again after
  /// a recovery.
  virtual void begin(Graph& /*graph*/) {}

  /// Called after every creation of the session, the first one and each recovery. Variables have values, and the graph
  /// can no longer change.
  virtual void after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) {}

  /// Called before every attempt of a run. Returns what to fetch and feed in that run.
  virtual SessionRunArgs before_run(SessionRunContext& /*context*/) { return {}; }

  /// Called after every successful run, with the results of this hook's fetches, which are valid during the call.
  virtual void after_run(SessionRunContext& /*context*/, const SessionRunValues& /*values*/) {}

  /// Called if a run fails after this hook's `before_run`. Undo here what `before_run` did.
  virtual void on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) {}

  /// Called once, when the session ends without an error or at the end of input. The session can still run.
  virtual void end(SessionRef /*session*/) {}

  /// Called once instead of `end` if the session ends with an error, which is null if unknown. Also called if this
  /// hook's `begin` throws. Must not throw.
  virtual void abort(const std::exception_ptr& /*error*/) noexcept {}

  [[nodiscard]] virtual HookPhase phase() const noexcept { return HookPhase::Normal; }

  /// Returns a reason if the current model must not be saved. Called before each save, in a job in all processes: one
  /// reason is enough.
  [[nodiscard]] virtual std::optional<std::string> veto_save() { return std::nullopt; }

  /// The file that this hook writes, or the directory of its files; empty: none. Called before `begin`: a job
  /// refuses hooks of several processes that write to the same one.
  [[nodiscard]] virtual std::string writes_to() const { return {}; }

  /// The name of this hook's state in checkpoints: what it is about, not its place in the list, and stable; without
  /// '/'. Empty: the name of its type. A hook takes only state of its name, and a session keeps what no hook takes. If
  /// two hooks of a class leave it empty and have state, the session refuses to save; of their timers alone it warns.
  [[nodiscard]] virtual std::string name() const { return {}; }

  /// Returns the state to keep across restarts; empty: none. Called whenever the model is saved.
  [[nodiscard]] virtual StateValues save_state() { return {}; }

  /// Restores the state saved with the restored model, before `after_create_session`. Not called if the checkpoint has
  /// none for this hook.
  virtual void load_state(const StateValues& /*state*/) {}

  /// Whether this hook changes variables that the session trains or trains with, such as a learning rate. Must not
  /// change. In a job, all processes must have such a hook: if one alone had it, they would train different models.
  [[nodiscard]] virtual bool writes_variables() const { return false; }

 protected:
  SessionRunHook() = default;
  SessionRunHook(const SessionRunHook& /*other*/) noexcept {}  // a copy belongs to no session
  SessionRunHook(SessionRunHook&& other) noexcept : timers_(std::move(other.timers_)) {}
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): nothing is assigned
  SessionRunHook& operator=(const SessionRunHook& /*other*/) noexcept { return *this; }
  SessionRunHook& operator=(SessionRunHook&& other) noexcept {
    timers_ = std::move(other.timers_);  // the timers that refer to them are assigned, too
    return *this;
  }

  /// The session's disk, clock and event writers. @throws FailedPreconditionError before `begin`.
  [[nodiscard]] TRAINHOOK_DECL HookServices& services() const;

 private:
  friend class detail::HookAccess;

  HookServices* services_ = nullptr;
  std::vector<std::unique_ptr<detail::TimerMark>> timers_;
  std::atomic<bool> claimed_ = false;
};

namespace detail {

/// Of its type; `core/names_in_messages.hpp` has those of other types.
[[nodiscard]] TRAINHOOK_DECL std::string short_type_name(const SessionRunHook& hook);

/// For the `name()` of a stock hook: the given name or, if it is empty, the type and what the state is about, such as
/// `EarlyStoppingHook(eval:loss,lower)`. In those parts ':' stands for '/', and '%' begins the code of a character.
[[nodiscard]] TRAINHOOK_DECL std::string name_of_state(const SessionRunHook& hook, const std::string& given,
                                                       const std::vector<std::string>& about);

/// What a hook's session and its timers do to it.
class HookAccess {
 public:
  /// For a timer that is constructed with this hook: adds its mark to the state of the hook, in order of construction.
  /// The address stays valid if the hook is moved.
  [[nodiscard]] TRAINHOOK_DECL static TimerMark& add_timer(SessionRunHook& hook);
  [[nodiscard]] static const std::vector<std::unique_ptr<TimerMark>>& timers(const SessionRunHook& hook) noexcept {
    return hook.timers_;
  }

  /// Before `begin`.
  static void attach(SessionRunHook& hook, HookServices& services) noexcept { hook.services_ = &services; }

  /// For a session, before `attach`: claims the hook. Returns false if another session has it.
  [[nodiscard]] static bool claim(SessionRunHook& hook) noexcept { return !hook.claimed_.exchange(true); }

  /// For the session that claimed the hook, after `end` or `abort`.
  static void release(SessionRunHook& hook) noexcept {
    hook.services_ = nullptr;
    hook.claimed_ = false;
  }
};

}  // namespace detail

class HookList;

namespace detail {

class HookEntry;

template <class T>
inline constexpr bool is_hook_pointer = false;
template <class Hook>
inline constexpr bool is_hook_pointer<std::shared_ptr<Hook>> = true;
template <class Hook, class Deleter>
inline constexpr bool is_hook_pointer<std::unique_ptr<Hook, Deleter>> = true;

/// Types that a list accepts but that are not hooks themselves: entries, pointers, lists and iterators.
template <class T>
inline constexpr bool is_hook_holder = is_hook_pointer<T> || std::same_as<T, HookEntry> || std::same_as<T, HookList> ||
                                       std::same_as<T, std::vector<HookEntry>> || std::input_or_output_iterator<T>;

template <class Result, class Found, class Base, class... Args>
consteval bool overrides(Result (Found::* /*function*/)(Args...), Result (Base::* /*callback*/)(Args...)) {
  return true;
}
consteval bool overrides(...) { return false; }

/// Whether each function of `Hook` that has a callback's name is that callback. One with other parameters hides it and
/// is never called. Not seen: private and overloaded functions. Not looked at: names that other classes use, such as
/// `end`.
template <class Hook>
consteval bool overrides_callbacks() {
  bool all = true;
  if constexpr (requires { &Hook::after_create_session; })
    all = all && overrides(&Hook::after_create_session, &SessionRunHook::after_create_session);
  if constexpr (requires { &Hook::before_run; }) all = all && overrides(&Hook::before_run, &SessionRunHook::before_run);
  if constexpr (requires { &Hook::after_run; }) all = all && overrides(&Hook::after_run, &SessionRunHook::after_run);
  if constexpr (requires { &Hook::on_run_failed; })
    all = all && overrides(&Hook::on_run_failed, &SessionRunHook::on_run_failed);
  if constexpr (requires { &Hook::save_state; }) all = all && overrides(&Hook::save_state, &SessionRunHook::save_state);
  if constexpr (requires { &Hook::load_state; }) all = all && overrides(&Hook::load_state, &SessionRunHook::load_state);
  return all;
}

/// Explains what is wrong with a class of hooks.
template <class Hook>
consteval void check_hook_class() {
  static_assert(!std::is_abstract_v<Hook>,
                "this hook still has a pure virtual function: override it, or name a class that does");
  static_assert(
      overrides_callbacks<Hook>(),
      "a function of this hook has a callback's name but other parameters, so it would never be called: write "
      "`override` behind it and the parameters of trainhook::SessionRunHook");
}

/// An entry in a HookList.
class HookEntry {
 public:
  /// Accepts every class type, so that a static_assert can explain what is wrong.
  template <class Hook>
    requires(std::is_class_v<std::remove_reference_t<Hook>> && !is_hook_holder<std::remove_cvref_t<Hook>>)
  HookEntry(Hook&& hook) {
    using Type = std::remove_cvref_t<Hook>;
    constexpr bool is_hook = std::derived_from<Type, SessionRunHook>;
    constexpr bool is_given_away = !std::is_lvalue_reference_v<Hook> && !std::is_const_v<Hook>;
    constexpr bool can_move = std::move_constructible<Type>;
    static_assert(
        is_hook || !std::is_base_of_v<SessionRunHook, Type>,
        "this hook derives from SessionRunHook in private: write class MyHook : public trainhook::SessionRunHook");
    static_assert(is_hook || std::is_base_of_v<SessionRunHook, Type>,
                  "a list of hooks has something in it that is not derived from trainhook::SessionRunHook");
    static_assert(
        !is_hook || is_given_away,
        "a list takes its hooks: write std::move(hook), or give it a std::shared_ptr to keep the hook as well");
    static_assert(!is_hook || !is_given_away || can_move,
                  "this hook cannot be moved into a list; make it in place with trainhook::make_hook<Hook>(...)");
    if constexpr (is_hook && is_given_away && can_move) {
      check_hook_class<Type>();
      if constexpr (requires(Type& own) { own.weak_from_this(); }) {
        hook_ = std::make_shared<Type>(std::forward<Hook>(hook));
      } else {  // as make_shared_object, but with one way to delete hooks of all types
        SessionRunHook* const moved = new Type(std::forward<Hook>(hook));
        hook_ = {std::shared_ptr<void>(static_cast<void*>(moved), delete_object<SessionRunHook>), moved};
      }
    }
  }
  template <std::derived_from<SessionRunHook> Hook>
  HookEntry(std::shared_ptr<Hook> hook) : hook_(std::move(hook)) {
    if (hook_ == nullptr) throw InvalidArgumentError("a list of hooks has a null pointer in it");
  }
  template <std::derived_from<SessionRunHook> Hook>
  HookEntry(std::unique_ptr<Hook>&& hook) : HookEntry(std::shared_ptr<Hook>(std::move(hook))) {}
  TRAINHOOK_MISTAKE("a list takes its hooks: write std::move(hook), or make a std::shared_ptr to keep the hook as well",
                    std::derived_from<SessionRunHook> Hook)
  HookEntry(std::unique_ptr<Hook>& hook) TRAINHOOK_REFUSED;
  TRAINHOOK_MISTAKE(
      "a list does not keep what an address points to: write std::move(hook), or give it a std::shared_ptr, which "
      "trainhook::make_hook<Hook>(...) makes",
      std::derived_from<SessionRunHook> Hook)
  HookEntry(Hook* hook) TRAINHOOK_REFUSED;

  [[nodiscard]] const std::shared_ptr<SessionRunHook>& get() const noexcept { return hook_; }

 private:
  std::shared_ptr<SessionRunHook> hook_;
};

}  // namespace detail

/// The hooks of a session, `{StopAtStepHook({.last_step = 100}), mine}`, or a single hook. Each is a hook by value,
/// which is moved in, or a unique or shared pointer to one.
class HookList : public std::vector<detail::HookEntry> {
 public:
  using std::vector<detail::HookEntry>::vector;
  template <class Hook>
    requires(std::derived_from<std::remove_cvref_t<Hook>, SessionRunHook> ||
             detail::is_hook_pointer<std::remove_cvref_t<Hook>>)
  HookList(Hook&& hook) {
    push_back(detail::HookEntry(std::forward<Hook>(hook)));
  }
  TRAINHOOK_MISTAKE(
      "a list does not keep what an address points to: write std::move(hook), or give it a std::shared_ptr, which "
      "trainhook::make_hook<Hook>(...) makes",
      std::derived_from<SessionRunHook> Hook)
  HookList(Hook* hook) TRAINHOOK_REFUSED;
};

/// Creates a hook in place, for types that cannot be moved: `make_hook<PinnedHook>({.depth = 2})`.
template <std::derived_from<SessionRunHook> Hook, class... Args>
[[nodiscard]] std::shared_ptr<Hook> make_hook(Args&&... args) {
  detail::check_hook_class<Hook>();
  return std::make_shared<Hook>(std::forward<Args>(args)...);
}
template <std::derived_from<SessionRunHook> Hook>
[[nodiscard]] std::shared_ptr<Hook> make_hook(typename Hook::Options options) {
  detail::check_hook_class<Hook>();
  return std::make_shared<Hook>(std::move(options));
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/session_run_hook.ipp>
#endif
