// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/evaluation_hook.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/text/single_values.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/run_forms.hpp>

namespace trainhook::detail {

/// Calls `measure`, and sets each random generator of the session back to where it stood: training draws the same
/// numbers, however often and for whatever reason it is evaluated.
template <class Measure>
Metrics measure_between_draws(SessionRef session, const Measure& measure) {
  std::vector<std::string> generators;
  for (const StateSpec& spec : session.state())
    if (spec.is_generator) generators.push_back(spec.name);
  if (generators.empty()) return measure();
  const std::vector<NamedTensor> before = session.snapshot(generators);
  try {
    Metrics metrics = measure();
    session.load(before);
    return metrics;
  } catch (...) {
    session.load(before);
    throw;
  }
}

}  // namespace trainhook::detail

namespace trainhook {

EvaluationHook::EvaluationHook(std::function<Metrics()> evaluate, Options options)
    : EvaluationHook(FetchRefs(), FeedDict(), std::move(options)) {
  evaluate_ = std::move(evaluate);
  if (!evaluate_) throw InvalidArgumentError("EvaluationHook: the function that evaluates is empty");
}

EvaluationHook::EvaluationHook(FetchRefs metrics, FeedDict feeds, Options options)
    : options_(std::move(options)), refs_(std::move(metrics)), feeds_(std::move(feeds)) {
  if (options_.name.empty()) throw InvalidArgumentError("EvaluationHook: name is empty");
  if (options_.at_end && !options_.every_n_steps && !options_.every_n_secs) return;
  timer_.emplace(*this,
                 SecondOrStepTimer::Options{.every_secs = options_.every_n_secs,
                                            .every_steps = options_.every_n_steps,
                                            .align = options_.every_n_steps.has_value()},
                 "EvaluationHook", "every_n_secs", "every_n_steps");
}

void EvaluationHook::set_inputs(std::vector<Output> inputs) {
  inputs_ = std::move(inputs);
  if (inputs_.empty()) throw InvalidArgumentError("EvaluationHook: there are no inputs to feed the data to");
}

EvaluationHook::EvaluationHook(EvaluationHook&& other) noexcept = default;
EvaluationHook::~EvaluationHook() = default;

void EvaluationHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "EvaluationHook");
  detail::SessionServices::of(services()).claim_metrics(*this, "EvaluationHook", options_.name);
  if (!evaluate_ && refs_.empty()) throw InvalidArgumentError("EvaluationHook: there is nothing to evaluate");
  fetches_ = detail::resolve_single_values(refs_, graph, "EvaluationHook", detail::Takes::Numbers);
  detail::check_feeds(feeds_, graph, "a feed of", "EvaluationHook");
  for (const Output& input : inputs_) graph.check_belongs(input, "an input of", "EvaluationHook");
  writer_ = options_.output_dir.empty() || !peers().is_chief()
                ? nullptr
                : &services().writers().at(join_path(options_.output_dir, options_.name));
  if (timer_) timer_->reset();
  start_step_.reset();
  measured_.reset();
  metrics_.clear();
}

void EvaluationHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  start_step_ = read_global_step(session, global_step_) + 1;
  if (!timer_) return;
  timer_->reset_unless_restored();
  share_period();
  in_first_period_ = !timer_->last_triggered_step();
  if (in_first_period_) timer_->update_last_triggered_step(read_global_step(session, global_step_), services().clock());
}

void EvaluationHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (timer_ && timer_->trigger_if_due(context.global_step(), context))
    evaluate(context.session(), context.global_step(), false);
}

void EvaluationHook::end(SessionRef session) {
  if (services().is_interrupted()) return;
  const std::int64_t step = read_global_step(session, global_step_);
  if (options_.at_end) {
    const auto is_due = [&] { return std::string(measured_ != step ? "due" : ""); };
    if (!peers().same_for_all(is_due).empty())
      evaluate(session, step, timer_ && (in_first_period_ || timer_->last_triggered_step() != step));
  } else if (in_first_period_ && step > timer_->last_triggered_step().value_or(step)) {
    log_warning(
        "EvaluationHook: nothing was measured, since the training ended before the first period did; give a "
        "smaller {}, or at_end",
        timer_->uses_seconds() ? "every_n_secs" : "every_n_steps");
  }
}

std::string EvaluationHook::name() const { return detail::name_of_state(*this, {}, {options_.name}); }

void EvaluationHook::evaluate(SessionRef session, std::int64_t step, bool is_extra) {
  metrics_ = measure(session);
  measured_ = step;
  in_first_period_ = false;
  if (writer_ != nullptr && start_step_) {  // readers drop what a lost run wrote from here, or is measured again
    writer_->add_session_log({.status = SessionLog::Start}, (std::min)(*start_step_, step));
    start_step_.reset();
  }
  std::string line;
  for (const Metric& metric : metrics_) {
    services().publish(fmt::format("{}/{}", options_.name, metric.name), {step, metric.value, is_extra});
    if (writer_ != nullptr) writer_->add_scalar(metric.name, metric.value, step);
    line += fmt::format("{}{} = {:.6g}", line.empty() ? "" : ", ", metric.name, metric.value);
  }
  if (writer_ != nullptr) writer_->flush();
  if (peers().is_chief()) log_info("{} at step {}: {}", options_.name, step, line);
}

Metrics EvaluationHook::run_on_data(SessionRef session) const {
  Metrics sums;
  double weight = 0;
  each_element_([&](const std::vector<Tensor>& element) {
    if (element.size() < inputs_.size())
      throw InvalidArgumentError("EvaluationHook: the data has {} components, and there are {} inputs", element.size(),
                                 inputs_.size());
    FeedDict feeds;
    for (std::size_t i = 0; i < inputs_.size(); ++i) feeds.push_back({inputs_[i], element[i]});
    const auto dims = element[0].shape().dims();
    const double size = dims.empty() ? 1 : static_cast<double>(dims[0]);
    Metrics batch = figures(session.run(std::span<const Fetch>(fetches_), feeds));
    for (std::size_t i = 0; i < batch.size(); ++i)
      batch[i].value = (sums.empty() ? 0 : sums[i].value) + size * batch[i].value;
    sums = std::move(batch);
    weight += size;
  });
  if (weight == 0) throw InvalidArgumentError("EvaluationHook: the data to evaluate on is empty");
  for (Metric& sum : sums) sum.value /= weight;
  return sums;
}

Metrics EvaluationHook::figures(const std::vector<Tensor>& results) const {
  Metrics figures;
  const std::vector<std::string> names = refs_.names();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor& value = results[i];
    const std::string& tag = refs_.entries()[i].tag;
    detail::expect_single_value("EvaluationHook", tag, value.dtype(), value.shape(), detail::Takes::Numbers);
    figures.push_back({names[i], *detail::tensor_number(value)});
  }
  return figures;
}

// A process that is new to the run may have got the state of another of the chief's EvaluationHooks.
void EvaluationHook::share_period() {
  const auto last = [&] {
    const std::optional<std::int64_t> step = timer_->last_triggered_step();
    return step ? fmt::format("{}", *step) : std::string();
  };
  const std::string shared = peers().same_for_all(last);
  if (shared == last()) return;
  timer_->reset();
  if (!shared.empty()) timer_->set_last_triggered_step(std::stoll(shared));
}

Metrics EvaluationHook::measure(SessionRef session) {
  const auto values = [&] {
    if (evaluate_) return detail::call_of_user("the function of evaluation", options_.name, evaluate_);
    return each_element_ ? run_on_data(session) : figures(session.run(std::span<const Fetch>(fetches_), feeds_));
  };
  return peers().share([&] { return detail::measure_between_draws(session, values); });
}

}  // namespace trainhook
