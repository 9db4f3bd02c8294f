// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProgressHook: shows how far training is, how fast it goes and how long it will take.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/hooks/fetch_ref.hpp>
#include <trainhook/hooks/progress_line.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/hooks/tensor_text.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Shows `step 400/3000 (13 %), 812 steps/s, 3.2 s left, loss = 0.43`: on a terminal one line that is written over, elsewhere plain lines.
/// However training ends, the line is finished and says why. The clock is read once a run; tensors are fetched with the runs that are
/// shown, and with the one that reaches `last_step`.
class ProgressHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> last_step{};  ///< where training is going; without it there is neither percentage nor time left
    FetchRefs tensors{};                      ///< shown with their tags, such as `{{"loss", loss}}`
    std::optional<Duration> every_secs{};     ///< default: 0.2 s on a terminal, 10 s elsewhere
    std::FILE* file = nullptr;                ///< default: standard error
    ProgressSink sink{};                      ///< in place of a file
    std::optional<bool> on_terminal{};        ///< default: whether the file is one
    std::size_t width = 100;                  ///< columns of a line on a terminal
  };

  ProgressHook() : ProgressHook(Options{}) {}
  /// @throws InvalidArgumentError for a period or a width that is not above zero, a negative `last_step`, a file and a sink at once.
  explicit ProgressHook(Options options)
      : options_(std::move(options)),
        on_terminal_(options_.on_terminal.value_or(!options_.sink && is_terminal(file()))),
        timer_({.every_secs = options_.every_secs.value_or(on_terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10))},
               "ProgressHook") {
    if (options_.file != nullptr && options_.sink) {
      throw InvalidArgumentError("ProgressHook: file and sink are both given; give one of them");
    }
    if (options_.last_step.value_or(0) < 0) {
      throw InvalidArgumentError("ProgressHook: last_step is ", *options_.last_step, "; it must not be negative");
    }
    if (options_.width == 0) throw InvalidArgumentError("ProgressHook: width is 0; it must be above 0");
  }

  void begin(Graph& graph) override {
    global_step_ = detail::require_global_step(graph, "ProgressHook");
    fetches_ = options_.tensors.resolve_outputs(graph, "ProgressHook");
    line_ = std::make_unique<ProgressLine>(options_.sink ? options_.sink : progress_to(file()), on_terminal_, options_.width);
    timer_.reset();
    runs_ = 0;
    values_.clear();
    reason_.clear();
    started_.reset();
  }

  void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override {
    step_ = shown_step_ = first_step_ = read_global_step(session, global_step_);
    last_time_.reset();
    rate_.reset();
  }

  SessionRunArgs before_run(SessionRunContext& context) override {
    if (!started_) started_ = context.now();
    due_ = timer_.should_trigger_for_step(++runs_, context) || step_ + 1 == options_.last_step;
    if (!due_) return {};
    return {.fetches = fetches_};
  }

  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    if (context.stop_requested()) reason_ = "a stop was requested";
    step_ = context.global_step();
    if (!std::exchange(due_, false)) return;
    timer_.update_last_triggered_step(runs_, context.now());
    measure(context.now());
    values_.clear();
    values_step_ = step_;
    for (std::size_t i = 0; i < values.results.size(); ++i) {
      values_ += ", " + options_.tensors.entries()[i].tag + " = " + tensor_text(values.results[i]);
    }
    if (step_ == options_.last_step) return;  // the end shows it
    std::string text = position_text();
    if (rate_) text += rate_text(*rate_) + time_left();
    line_->show(text + values_);
  }

  void on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& error) override {
    due_ = false;
    if (is_end_of_input(error)) reason_ = "the input has ended";
  }

  void end(SessionRef session) override {
    if (line_ == nullptr) return;
    step_ = read_global_step(session, global_step_);
    if (runs_ == 0) {
      reason_ = "no step to run";
    } else if (options_.last_step && step_ >= *options_.last_step) {
      reason_ = "finished";
    }
    finish(reason_.empty() ? "ended" : reason_);
  }

  void abort(const std::exception_ptr& error) noexcept override {
    try {
      if (line_ != nullptr && runs_ > 0) finish(error == nullptr ? "interrupted" : "failed");  // what failed is for whoever catches it
    } catch (...) {  // the line is closed by its destructor
    }
    line_.reset();
  }

 private:
  [[nodiscard]] std::FILE* file() const noexcept { return options_.file != nullptr ? options_.file : stderr; }

  // The rate since the line before, smoothed, so that the time left neither jumps nor sticks.
  void measure(Duration now) {
    const std::int64_t steps = step_ - std::exchange(shown_step_, step_);
    const std::optional<Duration> before = std::exchange(last_time_, now);
    if (!before || now <= *before || steps < 0) return;
    const double rate = static_cast<double>(steps) / std::chrono::duration<double>(now - *before).count();
    rate_ = rate_ ? 0.6 * *rate_ + 0.4 * rate : rate;
  }

  [[nodiscard]] std::string position_text() const {
    if (!options_.last_step) return str_cat("step ", step_);
    const std::int64_t last = *options_.last_step;
    const std::int64_t percent =
        last == 0 ? 100 : static_cast<std::int64_t>(100.0 * static_cast<double>(step_) / static_cast<double>(last));
    return str_cat("step ", step_, "/", last, " (", percent, " %)");
  }

  [[nodiscard]] static std::string rate_text(double rate) {
    char text[48];
    std::snprintf(text, sizeof text, rate < 10 ? ", %.2f steps/s" : ", %.0f steps/s", rate);
    return text;
  }

  [[nodiscard]] std::string time_left() const {
    if (!options_.last_step || *rate_ <= 0 || step_ >= *options_.last_step) return {};
    const double seconds = static_cast<double>(*options_.last_step - step_) / *rate_;
    if (seconds > 1e8) return {};
    return ", " + duration_text(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))) + " left";
  }

  void finish(const std::string& reason) {
    std::string text = position_text();
    if (started_) {
      const Duration took = environment().clock().monotonic_now() - *started_;
      if (took > Duration::zero() && step_ > first_step_) {
        text += rate_text(static_cast<double>(step_ - first_step_) / std::chrono::duration<double>(took).count());
      }
      text += " in " + duration_text(took);
    }
    if (values_step_ == step_) text += values_;
    line_->finish(text + ": " + reason);
    line_.reset();
  }

  Options options_;
  bool on_terminal_;
  SecondOrStepTimer timer_;
  Variable global_step_;
  FetchList fetches_;
  std::unique_ptr<ProgressLine> line_;
  std::int64_t runs_ = 0;
  std::int64_t first_step_ = 0;  // of this session
  std::int64_t step_ = 0;
  std::int64_t shown_step_ = 0;  // of the last line
  bool due_ = false;
  std::optional<Duration> started_;
  std::optional<Duration> last_time_;
  std::optional<double> rate_;
  std::string values_;
  std::int64_t values_step_ = 0;  // that the values are of
  std::string reason_;
};

}  // namespace trainhook
