// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/learning_rate_warm_up_hook.hpp>

#include <algorithm>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/learning_rate_variable.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

LearningRateWarmUpHook::LearningRateWarmUpHook(Options options) : options_(std::move(options)) {
  if (options_.steps <= 0)
    throw InvalidArgumentError("LearningRateWarmUpHook: steps is {}; it must be positive", options_.steps);
  if (!(options_.start >= 0 && options_.start < 1))
    throw InvalidArgumentError("LearningRateWarmUpHook: start is {}; it must be at least 0 and below 1",
                               options_.start);
}

LearningRateWarmUpHook::LearningRateWarmUpHook(LearningRateWarmUpHook&& other) noexcept = default;
LearningRateWarmUpHook::~LearningRateWarmUpHook() = default;

void LearningRateWarmUpHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "LearningRateWarmUpHook");
  whole_.reset();
}

void LearningRateWarmUpHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  dtype_ = detail::require_learning_rate(session, options_.learning_rate, "LearningRateWarmUpHook");
  const std::int64_t step = read_global_step(session, global_step_);
  is_over_ = step >= options_.steps;
  if (is_over_) return;
  if (!whole_) whole_ = detail::read_learning_rate(session, options_.learning_rate);
  log_info("LearningRateWarmUpHook: {} rises to {:.6g} until step {}.", options_.learning_rate, *whole_,
           options_.steps);
  raise(session, step);
}

void LearningRateWarmUpHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (!is_over_) raise(context.session(), context.global_step());
}

std::string LearningRateWarmUpHook::name() const {
  return detail::name_of_state(*this, options_.name, {options_.learning_rate});
}

StateValues LearningRateWarmUpHook::save_state() {
  StateValues state;
  if (whole_) state.set("learning_rate", Tensor(*whole_));
  return state;
}

void LearningRateWarmUpHook::load_state(const StateValues& state) {
  whole_ = state.at("learning_rate").scalar<double>();
}

void LearningRateWarmUpHook::raise(SessionRef session, std::int64_t step) {
  const std::int64_t next = (std::min)(step + 1, options_.steps);
  const double done = static_cast<double>(next) / static_cast<double>(options_.steps);
  is_over_ = next == options_.steps;
  detail::write_learning_rate(session, options_.learning_rate, dtype_,
                              is_over_ ? *whole_ : *whole_ * (options_.start + (1 - options_.start) * done));
}

}  // namespace trainhook
