// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProcessSignals: the signal handlers of SignalHook, one set per process.
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/thread.hpp>

namespace trainhook::detail {

struct SignalTable;
struct SharedSignals;
struct RecordedInterruption;

/// Made before the first handler is installed.
[[nodiscard]] TRAINHOOK_DECL SignalTable& signal_table() noexcept;
[[nodiscard]] TRAINHOOK_DECL SharedSignals& shared_signals();
[[nodiscard]] TRAINHOOK_DECL RecordedInterruption& recorded_interruption();

/// Handles signals while it exists, except those that are ignored; the destructor restores the earlier handlers, unless
/// somebody has installed another one meanwhile. A forked child has the earlier handlers, too. The handler records the
/// signal, which remains recorded after this object, and calls the earlier handler. The second stop signal ends the
/// process at once, unless it is SIGPIPE, which every further write may raise; so does the first one if this object
/// still exists after the deadline.
class ProcessSignals {
 public:
  struct Options {
    std::vector<int> stop{};
    std::vector<int> save{};
    OptionalDuration deadline{};
    friend bool operator==(const Options&, const Options&) = default;
  };

  /// The object of the process, which is created if there is none. @throws InvalidArgumentError for a number that is
  /// not a signal, or a signal that cannot be handled, FailedPreconditionError if it exists with other options.
  [[nodiscard]] TRAINHOOK_DECL static std::shared_ptr<ProcessSignals> share(const Options& options, Clock& clock);

  /// For `share`, which ensures that there is only one.
  TRAINHOOK_DECL ProcessSignals(Options options, Clock& clock);
  ProcessSignals(const ProcessSignals&) = delete;
  ProcessSignals& operator=(const ProcessSignals&) = delete;
  TRAINHOOK_DECL ~ProcessSignals();

  /// The first stop signal of the process, or else the first reason that was recorded; nothing if there is neither.
  [[nodiscard]] TRAINHOOK_DECL static std::optional<std::string> interruption();

  /// Records a reason to stop that is not a signal of this process: a file, or the signal of another rank.
  TRAINHOOK_DECL static void record_interruption(const std::string& reason);
  TRAINHOOK_DECL static void forget_interruption();

  /// The first stop signal of the process, or 0.
  [[nodiscard]] TRAINHOOK_DECL int stop_signal() const noexcept;

  /// The number of save signals so far.
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t num_saves() const noexcept;

 private:
  TRAINHOOK_DECL static void on_signal(int signal, siginfo_t* info, void* context);
  [[nodiscard]] TRAINHOOK_DECL static bool is_ours(const struct sigaction& action) noexcept;
  TRAINHOOK_DECL void install();
  TRAINHOOK_DECL void restore() noexcept;
  TRAINHOOK_DECL static void restore(int signal) noexcept;
  TRAINHOOK_DECL static void leave_in_child() noexcept;
  TRAINHOOK_DECL void watch();

  Options options_;
  Clock& clock_;
  std::vector<int> installed_;
  std::mutex mutex_;
  WaitCondition changed_;
  bool ended_ = false;
  Thread watcher_;
  ProcessMark process_;
};

/// `SIGTERM` for 15, `signal 63` for one without a name.
[[nodiscard]] TRAINHOOK_DECL std::string signal_name(int signal);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/process_signals.ipp>
#endif
