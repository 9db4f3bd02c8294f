// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/progress_hook.hpp>

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/core/write_signals.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

/// A sink that writes to a C file and flushes it.
inline ProgressSink progress_to(std::FILE* file) {
  return [file](std::string_view text) {
    const NoWriteSignals no_signals;
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  };
}

ProgressLine::ProgressLine(ProgressSink sink, bool on_terminal, std::size_t width)
    : sink_(std::move(sink)), on_terminal_(on_terminal), width_(width) {}

ProgressLine::~ProgressLine() {
  if (is_open_) sink_("\n");
}

void ProgressLine::show(std::string text) {
  if (on_terminal_) {
    text.resize(utf8_prefix(text, width_).size());  // one that wraps could not be written over
    text += "\x1b[K\r";
  } else {
    text += '\n';
  }
  sink_(text);
  is_open_ = on_terminal_;
}

void ProgressLine::finish(std::string text) {
  text += on_terminal_ ? "\x1b[K\n" : "\n";
  sink_(text);
  is_open_ = false;
}

}  // namespace trainhook::detail

namespace trainhook {

ProgressHook::ProgressHook(detail::NoOptions /*options*/) : ProgressHook(Options{}) {}

ProgressHook::ProgressHook(ProgressHook&& other) noexcept = default;
ProgressHook::~ProgressHook() = default;

ProgressHook::ProgressHook(Options options)
    : options_(std::move(options)),
      on_terminal_(options_.on_terminal.value_or(!options_.sink && detail::takes_escapes(file()))),
      timer_({.every_secs = options_.every_secs.value_or(on_terminal_ ? std::chrono::milliseconds(200)
                                                                      : std::chrono::seconds(10))},
             "ProgressHook") {
  if (options_.file != nullptr && options_.sink) {
    throw InvalidArgumentError("ProgressHook: file and sink are both given; give one of them");
  }
  if (options_.last_step.value_or(0) < 0) {
    throw InvalidArgumentError("ProgressHook: last_step is {}; it must not be negative", *options_.last_step);
  }
  if (options_.width == 0) throw InvalidArgumentError("ProgressHook: width is 0; it must be above 0");
}

void ProgressHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "ProgressHook");
  fetches_ = options_.tensors.resolve_outputs(graph, "ProgressHook");
  line_ = std::make_unique<detail::ProgressLine>(options_.sink ? options_.sink : detail::progress_to(file()),
                                                 on_terminal_, options_.width);
  timer_.reset();
  runs_ = 0;
  values_.clear();
  reason_.clear();
  started_.reset();
}

void ProgressHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  step_ = shown_step_ = first_step_ = read_global_step(session, global_step_);
  last_time_.reset();
  rate_.reset();
}

SessionRunArgs ProgressHook::before_run(SessionRunContext& context) {
  if (!started_) started_ = context.now();
  due_ = timer_.should_trigger_for_step(++runs_, context) || step_ + 1 == options_.last_step;
  if (!due_) return {};
  return {.fetches = fetches_};
}

void ProgressHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  reason_ = context.stop_requested() ? "a stop was requested" : "";  // an earlier request may have been dropped
  step_ = context.global_step();
  if (!std::exchange(due_, false)) return;
  timer_.update_last_triggered_step(runs_, context.now());
  measure(context.now());
  values_.clear();
  values_step_ = step_;
  for (std::size_t i = 0; i < values.results.size(); ++i) {
    values_ += fmt::format(", {} = {}", options_.tensors.entries()[i].tag, detail::tensor_text(values.results[i]));
  }
  for (const std::string& name : options_.metrics) {
    if (const PublishedMetric* const metric = services().metric(name))
      values_ += fmt::format(", {} = {:.4g}", name, metric->value);
  }
  if (step_ == options_.last_step) return;  // the end shows it
  std::string text = position_text();
  if (rate_) text += rate_text(*rate_) + time_left();
  line_->show(text + values_);
}

void ProgressHook::on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& error) {
  due_ = false;
  if (is_end_of_input(error)) reason_ = "the input has ended";
}

void ProgressHook::end(SessionRef session) {
  if (line_ == nullptr) return;
  step_ = read_global_step(session, global_step_);
  if (runs_ == 0) {
    reason_ = "no step to run";
  } else if (options_.last_step && step_ >= *options_.last_step) {
    reason_ = "finished";
  }
  finish(reason_.empty() ? "ended" : reason_);
}

void ProgressHook::abort(const std::exception_ptr& error) noexcept {
  try {
    if (line_ != nullptr && runs_ > 0)
      finish(error == nullptr ? "interrupted" : "failed");  // what failed is for whoever catches it
  } catch (...) {                                           // the line is closed by its destructor
  }
  line_.reset();
}

std::FILE* ProgressHook::file() const noexcept { return options_.file != nullptr ? options_.file : stderr; }

void ProgressHook::measure(Duration now) {
  const std::int64_t steps = step_ - std::exchange(shown_step_, step_);
  const std::optional<Duration> before = std::exchange(last_time_, now);
  if (!before || now <= *before || steps < 0) return;
  const double rate = static_cast<double>(steps) / std::chrono::duration<double>(now - *before).count();
  rate_ = rate_ ? 0.6 * *rate_ + 0.4 * rate : rate;
}

std::string ProgressHook::position_text() const {
  if (!options_.last_step) return fmt::format("step {}", step_);
  const std::int64_t last = *options_.last_step;
  const std::int64_t percent =
      last == 0 ? 100 : static_cast<std::int64_t>(100.0 * static_cast<double>(step_) / static_cast<double>(last));
  return fmt::format("step {}/{} ({} %)", step_, last, percent);
}

std::string ProgressHook::rate_text(double rate) {
  return rate < 10 ? fmt::format(", {:.2f} steps/s", rate) : fmt::format(", {:.0f} steps/s", rate);
}

std::string ProgressHook::time_left() const {
  if (!options_.last_step || *rate_ <= 0 || step_ >= *options_.last_step) return {};
  const double seconds = static_cast<double>(*options_.last_step - step_) / *rate_;
  if (seconds > 1e8) return {};
  return fmt::format(", {} left", duration_text(std::chrono::duration<double>(seconds)));
}

void ProgressHook::finish(const std::string& reason) {
  std::string text = position_text();
  if (started_) {
    const Duration took = services().clock().monotonic_now() - *started_;
    if (took > Duration::zero() && step_ > first_step_) {
      text += rate_text(static_cast<double>(step_ - first_step_) / std::chrono::duration<double>(took).count());
    }
    text += fmt::format(" in {}", duration_text(took));
  }
  if (values_step_ == step_) text += values_;
  line_->finish(fmt::format("{}: {}", text, reason));
  line_.reset();
}

}  // namespace trainhook
