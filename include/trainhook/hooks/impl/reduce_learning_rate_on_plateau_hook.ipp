// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of reduce_learning_rate_on_plateau_hook.hpp.
#pragma once

#include <trainhook/hooks/reduce_learning_rate_on_plateau_hook.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

TRAINHOOK_DECL ReduceLearningRateOnPlateauHook::ReduceLearningRateOnPlateauHook(Options options)
    : options_(std::move(options)), watch_(options_.better, options_.min_delta) {
  const auto require = [](bool holds, std::string_view option, double value, std::string_view what) {
    if (!holds)
      throw InvalidArgumentError("ReduceLearningRateOnPlateauHook: {} is {}; it must be {}", option, value, what);
  };
  require(options_.factor > 0 && options_.factor < 1, "factor", options_.factor, "above 0 and below 1");
  require(options_.patience >= 1, "patience", options_.patience, "at least 1");
  require(options_.min_delta >= 0, "min_delta", options_.min_delta, "at least 0");
  require(options_.cooldown >= 0, "cooldown", options_.cooldown, "at least 0");
  require(options_.min_learning_rate >= 0, "min_learning_rate", options_.min_learning_rate, "at least 0");
}

TRAINHOOK_DECL ReduceLearningRateOnPlateauHook::ReduceLearningRateOnPlateauHook(
    ReduceLearningRateOnPlateauHook&& other) noexcept = default;

TRAINHOOK_DECL ReduceLearningRateOnPlateauHook::~ReduceLearningRateOnPlateauHook() = default;

TRAINHOOK_DECL void ReduceLearningRateOnPlateauHook::begin(Graph& /*graph*/) {
  watch_.reset();
  cooldown_ = 0;
}

TRAINHOOK_DECL void ReduceLearningRateOnPlateauHook::after_create_session(SessionRef session,
                                                                          Coordinator& /*coordinator*/) {
  const std::vector<StateSpec> state = session.state();
  const auto found = std::ranges::find(state, options_.learning_rate, &StateSpec::name);
  if (found == state.end()) {
    throw NotFoundError(
        "ReduceLearningRateOnPlateauHook: the session has no variable '{}'; register the learning rate as a variable, "
        "and give its name as learning_rate",
        options_.learning_rate);
  }
  if ((found->dtype == DType::Float || found->dtype == DType::Double) && found->shape.compatible_with(Shape())) return;
  throw InvalidArgumentError(
      "ReduceLearningRateOnPlateauHook: '{}' is {}{}; a learning rate is one float or one double",
      options_.learning_rate, found->dtype, found->shape);
}

TRAINHOOK_DECL void ReduceLearningRateOnPlateauHook::after_run(SessionRunContext& context,
                                                               const SessionRunValues& /*values*/) {
  if (!watch_.take(services().metric(options_.metric))) return;
  if (cooldown_ > 0 && --cooldown_ > 0) watch_.forgive();
  if (watch_.worse() >= options_.patience) reduce(context.session(), context.global_step());
}

TRAINHOOK_DECL void ReduceLearningRateOnPlateauHook::end(SessionRef /*session*/) {
  if (!watch_.has_seen_one())
    detail::warn_if_never_published("ReduceLearningRateOnPlateauHook", options_.metric, services());
}

TRAINHOOK_DECL StateValues ReduceLearningRateOnPlateauHook::save_state() {
  StateValues state;
  watch_.save(state);
  state.set("cooldown", Tensor(cooldown_));
  return state;
}

TRAINHOOK_DECL void ReduceLearningRateOnPlateauHook::load_state(const StateValues& state) {
  watch_.load(state);
  cooldown_ = state.at("cooldown").scalar<std::int64_t>();
}

TRAINHOOK_DECL void ReduceLearningRateOnPlateauHook::reduce(SessionRef session, std::int64_t step) {
  const Tensor before = session.snapshot({&options_.learning_rate, 1}).front().tensor;
  const bool is_float = before.dtype() == DType::Float;
  const double rate = is_float ? static_cast<double>(before.scalar<float>()) : before.scalar<double>();
  if (!(rate > options_.min_learning_rate)) return;
  const double lower = (std::max)(rate * options_.factor, options_.min_learning_rate);
  const NamedTensor entry{options_.learning_rate, is_float ? Tensor(static_cast<float>(lower)) : Tensor(lower)};
  session.load({&entry, 1});
  log_info(
      "ReduceLearningRateOnPlateauHook: {} has not become better {} times in a row; "
      "{} is {:.6g} after step {}, not {:.6g}.",
      options_.metric, watch_.worse(), options_.learning_rate, lower, step, rate);
  cooldown_ = options_.cooldown;
  watch_.forgive();
}

}  // namespace trainhook
