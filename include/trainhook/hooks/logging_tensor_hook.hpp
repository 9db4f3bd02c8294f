// SPDX-License-Identifier: Apache-2.0
/// @file
/// LoggingTensorHook: logs tensors now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/log.hpp>
#include <trainhook/hooks/fetch_ref.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/hooks/tensor_text.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Logs `tag = value` of each tensor as one line, with the seconds since the line before: at the first run and then each time the period
/// is over. Tensors are fetched along with the runs that are logged, and only with those.
/// Source: TensorFlow's `LoggingTensorHook`; `every_n_steps` is an addition, and `at_end` manages without the user's feeds.
class LoggingTensorHook final : public SessionRunHook {
 public:
  /// Makes the line, from tags and values in the order of output.
  using Formatter = std::function<std::string(std::span<const NamedTensor>)>;

  struct Options {
    std::optional<std::int64_t> every_n_iter{};   ///< every so many runs
    std::optional<std::int64_t> every_n_steps{};  ///< every so many global steps
    std::optional<Duration> every_n_secs{};
    bool at_end = false;  ///< also when the session ends; alone, without a period, only then
    Formatter formatter{};
  };

  /// @param tensors one, several, or several with tags of their own: `loss`, `{loss, "accuracy"}`, `{{"loss", loss}, {"hits", accuracy}}`
  /// @throws InvalidArgumentError where there is none, and unless exactly one period above zero is given, or none together with `at_end`.
  LoggingTensorHook(FetchRefs tensors, Options options) : tensors_(std::move(tensors)), options_(std::move(options)) {
    if (tensors_.empty()) throw InvalidArgumentError("LoggingTensorHook: no tensor is given; give at least one");
    const int periods = (options_.every_n_iter ? 1 : 0) + (options_.every_n_steps ? 1 : 0) + (options_.every_n_secs ? 1 : 0);
    if (periods == 0 && options_.at_end) return;
    if (periods != 1) {
      throw InvalidArgumentError("LoggingTensorHook: Exactly one of every_n_iter, every_n_steps and every_n_secs must be given, not ",
                                 periods, "; none only with at_end");
    }
    if (options_.every_n_iter && *options_.every_n_iter <= 0) {
      throw InvalidArgumentError("LoggingTensorHook: Invalid every_n_iter=", *options_.every_n_iter, "; it must be above 0");
    }
    timer_.emplace(
        SecondOrStepTimer::Options{options_.every_n_secs, options_.every_n_steps ? options_.every_n_steps : options_.every_n_iter},
        "LoggingTensorHook", "every_n_secs", "every_n_steps");
  }

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Report; }

  /// @throws FailedPreconditionError for `every_n_steps` without a global step; what `FetchRef::resolve` throws.
  void begin(Graph& graph) override {
    if (options_.every_n_steps) detail::require_global_step(graph, "LoggingTensorHook with every_n_steps");
    fetches_ = tensors_.resolve_outputs(graph, "LoggingTensorHook");
    values_.clear();
    for (const FetchRefs::Entry& entry : tensors_.entries()) values_.push_back({entry.tag, Tensor()});
    if (timer_) timer_->reset();
    runs_ = 0;
    last_logged_.reset();
    last_line_at_.reset();
  }

  SessionRunArgs before_run(SessionRunContext& context) override {
    if (!timer_) return {};
    position_ = options_.every_n_steps ? context.global_step() : runs_;
    due_ = timer_->should_trigger_for_step(position_, context);
    if (!due_) return {};
    return {.fetches = fetches_};
  }

  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    if (due_) {
      for (std::size_t i = 0; i < values_.size(); ++i) values_[i].tensor = values.results[i];
      timer_->update_last_triggered_step(position_, context);
      log(context.now());
      last_logged_ = runs_;
      due_ = false;
      if (!options_.at_end) release_values();  // a handle that stays would make the next step copy a variable before writing it
    }
    ++runs_;
  }

  void on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) override { due_ = false; }

  /// Where the tensors cannot be evaluated any more, because they need feeds or input, those of the last logged run are shown.
  void end(SessionRef session) override {
    if (!options_.at_end || (last_logged_ && *last_logged_ + 1 == runs_)) return;
    try {
      const std::vector<Tensor> results = session.run(std::span<const Fetch>(fetches_));
      for (std::size_t i = 0; i < values_.size(); ++i) values_[i].tensor = results[i];
    } catch (const Error& error) {
      if (!last_logged_) throw;
      log_warning("LoggingTensorHook: at the end the tensors cannot be evaluated (", error.what(),
                  "); these are the values of the last line");
    }
    log(environment().clock().monotonic_now());
  }

 private:
  void release_values() noexcept {
    for (NamedTensor& value : values_) value.tensor = Tensor();
  }

  void log(Duration now) {
    const std::optional<Duration> before = std::exchange(last_line_at_, now);
    if (options_.formatter) {
      log_info(options_.formatter(values_));
      return;
    }
    std::string line;
    for (const NamedTensor& value : values_) {
      if (!line.empty()) line += ", ";
      line += value.name + " = " + tensor_text(value.tensor);
    }
    if (before) {
      char seconds[40];
      std::snprintf(seconds, sizeof seconds, " (%.3f sec)", std::chrono::duration<double>(now - *before).count());
      line += seconds;
    }
    log_info(line);
  }

  FetchRefs tensors_;
  Options options_;
  std::optional<SecondOrStepTimer> timer_;  // none: at the end only
  FetchList fetches_;
  std::vector<NamedTensor> values_;  // of the last line
  std::int64_t runs_ = 0;
  std::int64_t position_ = 0;  // of the run at hand: run or step
  bool due_ = false;
  std::optional<std::int64_t> last_logged_;  // run
  std::optional<Duration> last_line_at_;
};

}  // namespace trainhook
