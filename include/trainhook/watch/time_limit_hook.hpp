// SPDX-License-Identifier: Apache-2.0
/// @file
/// TimeLimitHook: ends a run, with a checkpoint, before the time of its job is up.
#pragma once

#include <functional>
#include <optional>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Interrupts a run at the step boundary after which the next step, the last save and the hooks' ends might no longer
/// fit into the time that is left: the longest step so far (with all that hooks did in it) and twice the longest save
/// so far are kept free, and the margin. `why_it_ended()` then ends with `kTimeLimit`; the next run resumes. In a job
/// of several processes the first one decides for all; if they agree every n steps only, the margin needs room for
/// these.
///
/// Without a limit the hook asks Slurm: `SLURM_JOB_END_TIME`, and since a limit can be changed, `squeue` every ten
/// minutes; what it does not answer is as before. Outside a job of Slurm the log says that there is no limit. A run
/// that resumed and has not saved yet saves soon, so that it is known what that takes.
class TimeLimitHook final : public SessionRunHook {
 public:
  struct Options {
    OptionalDuration max_time{};                           ///< of the session, from `begin` on
    std::function<std::optional<Duration>()> time_left{};  ///< instead of it: called after each step, by the first
                                                           ///< process of a job; nothing: there is no limit now
    OptionalDuration margin{};  ///< for what comes after the last save; default: 1 % of the time that is left when the
                                ///< limit is known, at most 10 s
  };

  /// What `why_it_ended()` ends with after a run that this hook ended; in a job, others than the first process say
  /// whose reason it is before that.
  static constexpr const char* kTimeLimit = "time limit";

  explicit TimeLimitHook(detail::NoOptions = {}) : TimeLimitHook(Options{}) {}
  /// @throws InvalidArgumentError if both kinds of limits are given, or a time that is not positive.
  TRAINHOOK_DECL explicit TimeLimitHook(Options options);
  TimeLimitHook(TimeLimitHook&& other) noexcept = default;

  /// Runs after the hooks that save, so that it knows what their saves took.
  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Report; }

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  // Sets `ends_at_`; nothing: there is no limit. `now` is the monotonic time.
  TRAINHOOK_DECL void look_at_limit(Duration now);
  TRAINHOOK_DECL void ask_slurm(Duration now);
  TRAINHOOK_DECL void set_limit(Duration now, Duration left);

  Options options_;
  bool decides_ = false;  // false: another process does
  std::optional<Duration> ends_at_;
  std::optional<Duration> asked_slurm_;
  std::optional<Duration> margin_;  // once a limit is known
  bool has_asked_for_save_ = false;
  Duration last_boundary_{};
  Duration longest_step_{};
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/watch/impl/time_limit_hook.ipp>
#endif
