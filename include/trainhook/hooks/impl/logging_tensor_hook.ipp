// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/logging_tensor_hook.hpp>

#include <chrono>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_forms.hpp>

namespace trainhook {

LoggingTensorHook::LoggingTensorHook(LoggingTensorHook&& other) noexcept = default;
LoggingTensorHook::~LoggingTensorHook() = default;

LoggingTensorHook::LoggingTensorHook(FetchRefs tensors, Options options)
    : tensors_(std::move(tensors)), options_(std::move(options)) {
  if (tensors_.empty()) throw InvalidArgumentError("LoggingTensorHook: no tensor is given; give at least one");
  const int periods =
      (options_.every_n_iter ? 1 : 0) + (options_.every_n_steps ? 1 : 0) + (options_.every_n_secs ? 1 : 0);
  if (periods == 0 && options_.at_end) return;
  if (periods != 1) {
    throw InvalidArgumentError(
        "LoggingTensorHook: Exactly one of every_n_iter, every_n_steps "
        "and every_n_secs must be given, not {}; none only with at_end",
        periods);
  }
  if (options_.every_n_iter && *options_.every_n_iter <= 0) {
    throw InvalidArgumentError("LoggingTensorHook: Invalid every_n_iter={}; it must be above 0",
                               *options_.every_n_iter);
  }
  timer_.emplace(SecondOrStepTimer::Options{options_.every_n_secs,
                                            options_.every_n_steps ? options_.every_n_steps : options_.every_n_iter},
                 "LoggingTensorHook", "every_n_secs", "every_n_steps");
}

void LoggingTensorHook::begin(Graph& graph) {
  if (options_.every_n_steps) detail::require_global_step(graph, "LoggingTensorHook with every_n_steps");
  fetches_ = tensors_.resolve_outputs(graph, "LoggingTensorHook");
  values_.clear();
  for (const FetchRefs::Entry& entry : tensors_.entries()) values_.push_back({entry.tag, Tensor()});
  if (timer_) timer_->reset();
  runs_ = 0;
  last_logged_.reset();
  last_line_at_.reset();
}

SessionRunArgs LoggingTensorHook::before_run(SessionRunContext& context) {
  if (!timer_) return {};
  is_running_ = true;
  position_ = options_.every_n_steps ? context.global_step() : runs_;
  due_ = timer_->should_trigger_for_step(position_, context);
  if (!due_) return {};
  return {.fetches = fetches_};
}

void LoggingTensorHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (due_) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i].tensor = values.results[i];
    timer_->update_last_triggered_step(position_, context);
    log(context.now());
    last_logged_ = runs_;
    due_ = false;
    if (!options_.at_end) {  // a handle that stays would make the next step copy a variable before writing it
      for (NamedTensor& value : values_) value.tensor = Tensor();
    }
  }
  ++runs_;
  is_running_ = false;
}

void LoggingTensorHook::on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) {
  is_running_ = due_ = false;
}

void LoggingTensorHook::end(SessionRef session) {
  if (!options_.at_end || (last_logged_ && *last_logged_ + 1 == runs_)) return;
  try {
    const std::vector<Tensor> results = session.run(std::span<const Fetch>(fetches_));
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i].tensor = results[i];
  } catch (const Error& error) {
    if (!last_logged_) throw;
    log_warning(
        "LoggingTensorHook: at the end the tensors cannot be evaluated ({}); these are the values of the last line",
        error.what());
  }
  log(services().clock().monotonic_now());
}

std::string LoggingTensorHook::name() const {  // what is saved counts in that unit
  std::vector<std::string> about = tensors_.names();
  about.emplace_back(options_.every_n_iter ? "iterations" : options_.every_n_steps ? "steps" : "seconds");
  return detail::name_of_state(*this, options_.name, about);
}

StateValues LoggingTensorHook::save_state() {
  StateValues state;
  if (!timer_) return state;
  // A save in a run comes before this hook's after_run, whose line will be in this process.
  state.set("runs", Tensor(runs_ + (is_running_ ? 1 : 0)));
  if (const auto last = due_ ? std::optional(position_) : timer_->last_triggered_step())
    state.set("last", Tensor(*last));
  return state;
}

void LoggingTensorHook::load_state(const StateValues& state) {
  runs_ = state.at("runs").scalar<std::int64_t>();
  if (!timer_) return;
  timer_->reset();
  if (const Tensor* last = state.find("last")) timer_->set_last_triggered_step(last->scalar<std::int64_t>());
}

void LoggingTensorHook::log(Duration now) {
  const std::optional<Duration> before = std::exchange(last_line_at_, now);
  if (options_.formatter) {
    log_info("{}", options_.formatter(values_));
    return;
  }
  std::string line;
  for (const NamedTensor& value : values_) {
    if (!line.empty()) line += ", ";
    line += fmt::format("{} = {}", value.name, detail::numpy_text(value.tensor));
  }
  if (before) line += fmt::format(" ({:.3f} sec)", std::chrono::duration<double>(now - *before).count());
  log_info("{}", line);
}

}  // namespace trainhook
