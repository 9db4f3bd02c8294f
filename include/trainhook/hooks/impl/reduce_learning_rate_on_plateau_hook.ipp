// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/reduce_learning_rate_on_plateau_hook.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/hooks/learning_rate_variable.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

ReduceLearningRateOnPlateauHook::ReduceLearningRateOnPlateauHook(Options options)
    : options_(std::move(options)), watch_(options_.better, options_.min_delta) {
  const auto demand = [](bool holds, std::string_view option, double value, std::string_view what) {
    if (!holds)
      throw InvalidArgumentError("ReduceLearningRateOnPlateauHook: {} is {}; it must be {}", option, value, what);
  };
  demand(options_.factor > 0 && options_.factor < 1, "factor", options_.factor, "above 0 and below 1");
  demand(options_.patience >= 1, "patience", options_.patience, "at least 1");
  demand(options_.min_delta >= 0, "min_delta", options_.min_delta, "at least 0");
  demand(options_.cooldown >= 0, "cooldown", options_.cooldown, "at least 0");
  demand(options_.min_learning_rate >= 0, "min_learning_rate", options_.min_learning_rate, "at least 0");
}

ReduceLearningRateOnPlateauHook::ReduceLearningRateOnPlateauHook(ReduceLearningRateOnPlateauHook&& other) noexcept =
    default;
ReduceLearningRateOnPlateauHook::~ReduceLearningRateOnPlateauHook() = default;

void ReduceLearningRateOnPlateauHook::begin(Graph& /*graph*/) {
  watch_.reset();
  cooldown_ = 0;
}

void ReduceLearningRateOnPlateauHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  if (!watch_.reset_unless_loaded()) cooldown_ = 0;
  dtype_ = detail::require_learning_rate(session, options_.learning_rate, "ReduceLearningRateOnPlateauHook");
}

void ReduceLearningRateOnPlateauHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (!watch_.take(services().metric(options_.metric))) return;
  if (cooldown_ > 0 && --cooldown_ > 0) watch_.forgive();
  if (watch_.worse() >= options_.patience) reduce(context.session(), context.global_step());
}

void ReduceLearningRateOnPlateauHook::end(SessionRef /*session*/) {
  if (!watch_.has_seen_one())
    detail::warn_if_never_published("ReduceLearningRateOnPlateauHook", options_.metric, services());
}

std::string ReduceLearningRateOnPlateauHook::name() const {
  return detail::name_of_state(*this, options_.name,
                               {options_.metric, detail::better_text(options_.better), options_.learning_rate});
}

StateValues ReduceLearningRateOnPlateauHook::save_state() {
  StateValues state;
  watch_.save(state);
  state.set("cooldown", Tensor(cooldown_));
  return state;
}

void ReduceLearningRateOnPlateauHook::load_state(const StateValues& state) {
  watch_.load(state);
  cooldown_ = state.at("cooldown").scalar<std::int64_t>();
}

void ReduceLearningRateOnPlateauHook::reduce(SessionRef session, std::int64_t step) {
  const double rate = detail::read_learning_rate(session, options_.learning_rate);
  if (!(rate > options_.min_learning_rate)) return;
  const double lower = (std::max)(rate * options_.factor, options_.min_learning_rate);
  detail::write_learning_rate(session, options_.learning_rate, dtype_, lower);
  const auto in_its_digits = [this](double value) {
    return dtype_ == DType::Double ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  };
  log_info(
      "ReduceLearningRateOnPlateauHook: {} has not improved {} times in a row; "
      "after step {} {} goes from {} to {}.",
      options_.metric, watch_.worse(), step, options_.learning_rate, in_its_digits(rate), in_its_digits(lower));
  cooldown_ = options_.cooldown;
  watch_.forgive();
}

}  // namespace trainhook
