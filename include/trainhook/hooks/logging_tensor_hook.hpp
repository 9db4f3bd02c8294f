// SPDX-License-Identifier: Apache-2.0
/// @file
/// LoggingTensorHook: logs tensors periodically.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Logs `tag = value` of all tensors in one line, with the seconds since the last line: at the first run and then at
/// every period. Tensors are fetched only in logged runs. Values are printed as by NumPy, so an array of several rows
/// takes several lines. Source: TensorFlow's `LoggingTensorHook`; `every_n_steps` is an addition, and `at_end` does not
/// need the user's feeds.
class LoggingTensorHook : public SessionRunHook {
 public:
  /// Returns the line for tags and values, in the order of output.
  using Formatter = std::function<std::string(std::span<const NamedTensor>)>;

  struct Options {
    std::optional<std::int64_t> every_n_iter{};   ///< in runs
    std::optional<std::int64_t> every_n_steps{};  ///< in global steps
    OptionalDuration every_n_secs{};
    bool at_end = false;  ///< also logs when the session ends; without a period, only then
    Formatter formatter{};
    std::string name{};  ///< of the hook's state in checkpoints; empty: from the tags and the unit of the period
  };

  /// @param tensors one, several, or several with tags: `loss`, `{loss, "accuracy"}`, `{{"loss", loss}, {"hits",
  /// accuracy}}`
  /// @throws InvalidArgumentError if there is none, and unless exactly one positive period is given, or none with
  /// `at_end`.
  TRAINHOOK_DECL LoggingTensorHook(FetchRefs tensors, Options options);
  TRAINHOOK_MISTAKE(
      "say what the number counts: LoggingTensorHook(tensors, {.every_n_iter = 100}), or {.every_n_steps = 100} for "
      "global steps, or {.every_n_secs = 60}",
      class Number)
  LoggingTensorHook(const FetchRefs& tensors, Number period)
    requires std::is_arithmetic_v<Number>
  TRAINHOOK_REFUSED;
  TRAINHOOK_DECL LoggingTensorHook(LoggingTensorHook&& other) noexcept;
  TRAINHOOK_DECL ~LoggingTensorHook() override;

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Report; }

  /// @throws FailedPreconditionError for `every_n_steps` without a global step, and as `FetchRefs::resolve`.
  TRAINHOOK_DECL void begin(Graph& graph) override;

  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  TRAINHOOK_DECL void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override;

  /// If the tensors can no longer be computed, because they need feeds or input, logs the values of the last logged
  /// run.
  TRAINHOOK_DECL void end(SessionRef session) override;

  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  /// The position in the period, so that a resumed run logs at the same runs as an uninterrupted one.
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  TRAINHOOK_DECL void log(Duration now);

  FetchRefs tensors_;
  Options options_;
  std::optional<SecondOrStepTimer> timer_;  // none: at the end only
  FetchList fetches_;
  std::vector<NamedTensor> values_;  // of the last line
  std::int64_t runs_ = 0;
  std::int64_t position_ = 0;  // of the current run: a run or a step
  bool due_ = false;
  bool is_running_ = false;
  std::optional<std::int64_t> last_logged_;  // run
  std::optional<Duration> last_line_at_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/logging_tensor_hook.ipp>
#endif
