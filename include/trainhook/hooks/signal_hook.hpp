// SPDX-License-Identifier: Apache-2.0
/// @file
/// SignalHook: Ctrl-C, SIGTERM or a file stops a run after its current step, with a checkpoint.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

namespace detail {
class ProcessSignals;
}

/// Why a run of this process was interrupted, such as `SIGTERM`, since a SignalHook got that signal or found the file
/// `stop`; nothing if none was. It remains when the session has ended, so that a loop of sessions can end, too:
///
///     for (;;) {
///       train();
///       if (th::interruption()) break;
///       evaluate();
///     }
///
/// Thread-safe; not for signal handlers.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> interruption();

/// Takes it back, so that sessions with a SignalHook can be made again. Call it when no such session is open.
/// Thread-safe.
TRAINHOOK_DECL void forget_interruption();

/// Requests a stop when the process gets one of `stop_signals`: the current step is finished, hooks end, the last step
/// is saved, and a log line says what was saved. A second one, other than SIGPIPE, ends the process at once. One of
/// `save_signals` saves after the next step. Earlier handlers are called too, and are restored when the session has
/// ended, unless another one was installed meanwhile. A signal that is ignored when the session begins, as SIGINT in a
/// script's background job, stays ignored. Several sessions of one process share the signals, with equal options. A
/// session with this hook that is made after the stop throws CancelledError: see `interruption`.
class SignalHook final : public SessionRunHook {
 public:
  struct Options {
    std::vector<int> stop_signals{SIGINT, SIGTERM, SIGPIPE};  ///< SIGPIPE: nobody reads what the program prints
    std::vector<int> save_signals{SIGUSR1};
    OptionalDuration deadline = std::chrono::seconds(30);  ///< after which the process ends anyhow, because a
                                                           ///< step hangs or a disk is too slow; nothing: never
    std::string directory{};  ///< an empty file `stop` or `save` made there does the same as a signal, and is removed;
                              ///< it is looked for once a second. Empty: none is looked for
  };

  explicit SignalHook(detail::NoOptions = {}) : SignalHook(Options{}) {}
  TRAINHOOK_DECL explicit SignalHook(Options options);
  TRAINHOOK_DECL SignalHook(SignalHook&& other) noexcept;
  TRAINHOOK_DECL ~SignalHook() override;

  /// Runs after the hooks that save, so that it can log what was saved.
  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Report; }

  /// Installs the handlers.
  /// @throws CancelledError if a run of this process was interrupted before, InvalidArgumentError for a signal that
  /// cannot be handled or is given twice, FailedPreconditionError if another session of the process has a SignalHook
  /// with other options.
  TRAINHOOK_DECL void begin(Graph& graph) override;

  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  // The reason to stop, or nothing.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> reason_to_stop(Duration now);
  [[nodiscard]] TRAINHOOK_DECL bool take_file(const std::string& name);

  Options options_;
  std::shared_ptr<detail::ProcessSignals> signals_;
  std::uint64_t saves_ = 0;  // requests by signals that were passed on
  std::optional<Duration> looked_;
  bool warned_ = false;  // of a file that is no request
  std::string reason_;   // of the stop that this hook requested
};

namespace detail {

/// For the code that makes a session with these hooks, before it touches a file. @throws CancelledError if there is a
/// SignalHook among them and a run of this process was interrupted.
TRAINHOOK_DECL void refuse_if_interrupted(const HookList& hooks);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/signal_hook.ipp>
#endif
