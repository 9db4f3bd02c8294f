// SPDX-License-Identifier: Apache-2.0
/// @file
/// ThroughputHook: how fast a run trains, when it will have ended, and what memory it takes. WaitTimer: how long a loop
/// waits for its input.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileWriter;

/// Adds up how long a loop waits, for example for its input. Reads the clock twice for each wait. Not thread-safe.
///
///     session.run([&] {
///       const auto batch = waiting.time([&] { return batches.next(); });
///       ...
///     });
class WaitTimer {
 public:
  /// The clock must outlive this.
  explicit WaitTimer(Clock& clock = system_clock()) noexcept : clock_(&clock) {}

  template <class Wait>
  decltype(auto) time(Wait&& wait) {
    struct Adding {
      WaitTimer& timer;
      Duration started = timer.clock_->monotonic_now();
      ~Adding() { timer.total_ = Duration(timer.total_ + (timer.clock_->monotonic_now() - started)); }
    } const adding{*this};
    return std::forward<Wait>(wait)();
  }

  /// Of all waits so far.
  [[nodiscard]] Duration total() const noexcept { return total_; }

 private:
  Clock* clock_;
  Duration total_{};
};

/// At each period, measures what the run has done since the last one, and logs, publishes and writes it for
/// TensorBoard:
///
///     throughput/batches_per_sec    steps
///     throughput/samples_per_sec    if a number of samples is given; tokens_per_sec likewise
///     time/remaining_estimate       seconds, if `last_step` is given, by this rate
///     time/input_wait_share         0 to 1, if `input_wait` is given
///     memory/resident_bytes         of the process, where `/proc` says it
///
/// Other hooks show these metrics by their names, such as CsvLoggerHook and ProgressHook; checkpoints do not have them.
/// Measuring starts when a session is created. In a job, each process measures itself, and the first one writes.
class ThroughputHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> every_n_steps{};  ///< default: 100 if no period is given
    OptionalDuration every_n_secs{};
    double samples_per_step = 0;
    double tokens_per_step = 0;
    std::function<double()>
        total_samples{};  ///< instead of `samples_per_step`: the number so far; called at each period
    std::function<double()> total_tokens{};
    std::optional<std::int64_t> last_step{};  ///< when training ends
    const WaitTimer* input_wait = nullptr;    ///< how long the loop has waited for its input; must outlive the session
    std::string output_dir{};                 ///< for event files; empty: that of the session's checkpoints, if any
    bool log = true;
  };

  explicit ThroughputHook(detail::NoOptions = {}) : ThroughputHook(Options{}) {}
  /// @throws InvalidArgumentError for both periods, or one that is not positive, a negative number, or a number and a
  /// function for the same.
  TRAINHOOK_DECL explicit ThroughputHook(Options options);
  ThroughputHook(ThroughputHook&& other) noexcept = default;

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  // What has been counted until now.
  struct Counts {
    double samples = 0;
    double tokens = 0;
    Duration waited{};
  };

  [[nodiscard]] TRAINHOOK_DECL Counts counts() const;
  TRAINHOOK_DECL void report(std::int64_t step, const SecondOrStepTimer::Elapsed& elapsed);

  Options options_;
  SecondOrStepTimer timer_;
  FileWriter* writer_ = nullptr;
  Counts last_;
};

namespace detail {

/// The memory of this process that is in RAM, in bytes; nothing where `/proc/self/statm` does not say it.
[[nodiscard]] TRAINHOOK_DECL std::optional<double> resident_bytes();

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/watch/impl/throughput_hook.ipp>
#endif
