// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of exponential_moving_average_hook.hpp.
#pragma once

#include <trainhook/hooks/exponential_moving_average_hook.hpp>

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

template <class T>
void move_towards(std::span<T> averages, std::span<const T> values, double decay) noexcept {
  for (std::size_t i = 0; i < averages.size(); ++i)
    averages[i] -= static_cast<T>(1 - decay) * (averages[i] - values[i]);  // as TensorFlow's assign_sub
}

inline std::string average_entry(const std::string& variable) { return fmt::format("average/{}", variable); }

/// The variables to average. @throws InvalidArgumentError for a name of none.
inline std::vector<Variable> averaged_variables(const Graph& graph, const std::vector<std::string>& names) {
  if (names.empty()) {
    std::vector<Variable> all = trainable_variables(graph);
    std::erase_if(all, [](const Variable& one) { return one.dtype() != DType::Float && one.dtype() != DType::Double; });
    if (!all.empty()) return all;
    throw InvalidArgumentError(
        "ExponentialMovingAverageHook: there is no trainable float or double variable to average");
  }
  std::vector<Variable> chosen;
  std::unordered_map<std::string, Variable> all;
  for (const Variable& variable : global_variables(graph)) all.emplace(variable.name(), variable);
  for (const std::string& name : names) {
    const auto found = all.find(name);
    if (found == all.end())
      throw InvalidArgumentError("ExponentialMovingAverageHook: there is no variable '{}' to average", name);
    const Variable& variable = found->second;
    if (variable.dtype() != DType::Float && variable.dtype() != DType::Double) {
      throw InvalidArgumentError("ExponentialMovingAverageHook: variable '{}' is {}; averages are float or double",
                                 name, variable.dtype());
    }
    chosen.push_back(variable);
  }
  return chosen;
}

}  // namespace trainhook::detail

namespace trainhook {

ExponentialMovingAverageHook::Swapped::Swapped(SessionRef session, const std::vector<NamedTensor>& averages)
    : session_(session) {
  std::vector<std::string> names;
  for (const NamedTensor& average : averages) names.push_back(average.name);
  values_ = session_.snapshot(names);
  session_.load(averages);
}

ExponentialMovingAverageHook::Swapped::~Swapped() {
  try {
    session_.load(values_);
  } catch (...) {
    log_error(
        "ExponentialMovingAverageHook: "
        "the variables still hold their averages, because their values could not be put back: {}",
        describe(std::current_exception()));
  }
}

ExponentialMovingAverageHook::ExponentialMovingAverageHook(Options options) : options_(std::move(options)) {
  if (!(options_.decay >= 0 && options_.decay < 1)) {
    throw InvalidArgumentError("ExponentialMovingAverageHook: decay is {}; it must be at least 0 and below 1",
                               options_.decay);
  }
}

ExponentialMovingAverageHook::ExponentialMovingAverageHook(ExponentialMovingAverageHook&& other) noexcept = default;

ExponentialMovingAverageHook::~ExponentialMovingAverageHook() = default;

ExponentialMovingAverageHook::Swapped ExponentialMovingAverageHook::use_averages() const {
  if (!session_.has_value() || averages_.empty()) {
    throw FailedPreconditionError(
        "ExponentialMovingAverageHook: there are no averages before the session is created; call use_averages in a "
        "callback of a hook");
  }
  return {session_, averages_};
}

void ExponentialMovingAverageHook::begin(Graph& graph) {
  names_.clear();
  for (const Variable& variable : detail::averaged_variables(graph, options_.variables))
    names_.push_back(variable.name());
  averages_.clear();
  updates_ = 0;
  restored_ = false;
}

void ExponentialMovingAverageHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  session_ = session;
  if (std::exchange(restored_, false)) return;
  averages_ = session.snapshot(names_);
  updates_ = 0;
}

void ExponentialMovingAverageHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  ++updates_;
  const double n = static_cast<double>(updates_);
  const double decay = options_.warm_up ? (std::min)(options_.decay, (1 + n) / (10 + n)) : options_.decay;
  const std::vector<NamedTensor> values = context.session().snapshot(names_);
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    Tensor& average = averages_[i].tensor;
    const Tensor& value = values[i].tensor;
    if (average.dtype() == DType::Float) {
      detail::move_towards(average.mutable_data<float>(), value.data<float>(), decay);
    } else {
      detail::move_towards(average.mutable_data<double>(), value.data<double>(), decay);
    }
  }
}

StateValues ExponentialMovingAverageHook::save_state() {
  StateValues state;
  if (averages_.empty()) return state;
  state.set("updates", Tensor(updates_));
  for (const NamedTensor& average : averages_) state.set(detail::average_entry(average.name), average.tensor);
  return state;
}

void ExponentialMovingAverageHook::load_state(const StateValues& state) {
  std::unordered_map<std::string_view, const Tensor*> values;
  for (const NamedTensor& entry : state.entries()) values.emplace(entry.name, &entry.tensor);
  std::vector<NamedTensor> loaded;
  for (const std::string& name : names_) {
    const auto average = values.find(detail::average_entry(name));
    if (average == values.end()) {
      log_warning("ExponentialMovingAverageHook: the checkpoint has no average of '{}'; all start from present values",
                  name);
      return;
    }
    loaded.push_back({name, *average->second});
  }
  averages_ = std::move(loaded);
  updates_ = state.at("updates").scalar<std::int64_t>();
  restored_ = true;
}

}  // namespace trainhook
