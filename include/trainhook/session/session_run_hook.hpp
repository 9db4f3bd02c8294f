// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionRunHook: the class to derive from to take part in a training loop.
#pragma once

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Coordinator;

/// When a hook's callbacks come, compared with those of other hooks. Within a phase: in the order the hooks were given.
enum class HookPhase {
  Check,   ///< looks at the step before anything is made of it, and may veto a save
  Normal,  ///< everything else
  Save,    ///< saves what the others have left behind
  Report,  ///< only looks: a batch that it takes at the end is not missing after a restart
};

/// Takes part in a training loop through callbacks, all of which do nothing unless overridden. A hook is called on the
/// thread that calls the monitored session, one callback at a time, and belongs to one session at a time. Source:
/// TensorFlow's `SessionRunHook`; `abort`, `on_run_failed`, `phase`, `veto_save` and the state calls are additions.
///
/// | the step ended by | after_run | on_run_failed | the session afterwards |
/// |---|---|---|---|
/// | normal return | all hooks | | goes on |
/// | a hook called `request_stop()` | all hooks of this step | | `should_stop()` is true, also if something later in
/// the same run threw | | AbortedError, UnavailableError | none for that attempt | all that ran before_run | made anew
/// from the newest good checkpoint, within the retry policy; the step is run again, unless a hook has asked to stop |
/// | any other exception | none further | all that ran before_run | it leaves `run()`, or a thread's that came first;
/// the session stays usable |
///
/// | the session ended by | end | abort | last checkpoint | the caller sees |
/// |---|---|---|---|---|
/// | `close()` | every hook, also if one throws | no | yes | the first error, all of them in `errors()`; a second
/// `close()` does nothing | | end of input leaving the loop function | every hook | no | yes | the loop function
/// returns | | another exception leaving the loop function | no | every hook, last first, with the error | no | that
/// exception, or a thread's that came first | | `close()` or destructor, the session being lost for good | no | every
/// hook, with the error that it was lost to | no | that error, unless it has left `run()` already | | destructor, not
/// unwinding | as `close()`, errors logged | no | yes | nothing | | destructor while unwinding from the end of input
/// that `run()` threw | as `close()`, errors logged | no | yes | the exception goes on | | destructor while unwinding
/// otherwise | no | every hook, with the error that `run()` recorded, or null | no | the original exception |
class SessionRunHook {
 public:
  TRAINHOOK_DECL virtual ~SessionRunHook();

  /// Once, before the session exists: the graph can still be changed. Resolve names here. Not repeated after a
  /// recovery.
  virtual void begin(Graph& /*graph*/) {}

  /// After every creation of the session, the first and each recovery: variables have their values, the graph is final.
  virtual void after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) {}

  /// Before every attempt of a run: what this hook wants fetched and fed along with it.
  virtual SessionRunArgs before_run(SessionRunContext& /*context*/) { return {}; }

  /// After every successful run, with this hook's own results, which are valid during the call.
  virtual void after_run(SessionRunContext& /*context*/, const SessionRunValues& /*values*/) {}

  /// After a run that failed although this hook's `before_run` was called: take back what was handed out.
  virtual void on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) {}

  /// Once, when the session ends without an error or by the end of input. The session still runs.
  virtual void end(SessionRef /*session*/) {}

  /// Once, in place of `end`, when the session ends by an error; null where the library cannot know it. Must not throw.
  virtual void abort(const std::exception_ptr& /*error*/) noexcept {}

  [[nodiscard]] virtual HookPhase phase() const noexcept { return HookPhase::Normal; }

  /// Why the model as it is now must not be saved, or nothing. Asked before each save.
  [[nodiscard]] virtual std::optional<std::string> veto_save() { return std::nullopt; }

  /// The name under which its state stands in checkpoints. Empty: the type's name, numbered where there are several.
  [[nodiscard]] virtual std::string name() const { return {}; }

  /// State that is worth keeping over a restart; empty where there is none. Called whenever the model is saved.
  [[nodiscard]] virtual StateValues save_state() { return {}; }

  /// The state that belongs to the restored model. Not called where the checkpoint has none for this hook.
  virtual void load_state(const StateValues& /*state*/) {}

  /// For whoever drives the hook: called before `begin`.
  void attach(HookServices& services) noexcept { services_ = &services; }

 protected:
  SessionRunHook() = default;
  SessionRunHook(const SessionRunHook&) = default;
  SessionRunHook(SessionRunHook&&) = default;
  SessionRunHook& operator=(const SessionRunHook&) = default;
  SessionRunHook& operator=(SessionRunHook&&) = default;

  /// The session's disk, clock and writers; from `begin` on. @throws FailedPreconditionError before.
  [[nodiscard]] TRAINHOOK_DECL HookServices& services() const;

 private:
  HookServices* services_ = nullptr;
};

/// An entry of a list of hooks: a hook by value, which is moved in, one that is handed over, or one that is shared with
/// the caller.
class HookEntry {
 public:
  template <std::derived_from<SessionRunHook> Hook>
  HookEntry(Hook&& hook) : hook_(std::make_shared<Hook>(std::forward<Hook>(hook))) {}
  template <std::derived_from<SessionRunHook> Hook>
  HookEntry(std::shared_ptr<Hook> hook) : hook_(std::move(hook)) {
    if (hook_ == nullptr) throw InvalidArgumentError("a list of hooks has a null pointer in it");
  }
  template <std::derived_from<SessionRunHook> Hook>
  HookEntry(std::unique_ptr<Hook> hook) : HookEntry(std::shared_ptr<Hook>(std::move(hook))) {}

  [[nodiscard]] const std::shared_ptr<SessionRunHook>& get() const noexcept { return hook_; }

 private:
  std::shared_ptr<SessionRunHook> hook_;
};

using HookList = std::vector<HookEntry>;

/// Makes a hook in place, for one that cannot be moved: `make_hook<PinnedHook>({.depth = 2})`.
template <std::derived_from<SessionRunHook> Hook, class... Args>
[[nodiscard]] std::shared_ptr<Hook> make_hook(Args&&... args) {
  return std::make_shared<Hook>(std::forward<Args>(args)...);
}
template <std::derived_from<SessionRunHook> Hook>
[[nodiscard]] std::shared_ptr<Hook> make_hook(typename Hook::Options options) {
  return std::make_shared<Hook>(std::move(options));
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/session_run_hook.ipp>
#endif
