// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/torch/optimizers.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/optim.h>
#include <torch/utils.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/torch/modules.hpp>
#include <trainhook/torch/optimizer_state.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch::detail {

// What each optimizer keeps for a parameter, and the options of its groups.
template <class State, class Visit>
void each_adam_field(State& state, const Visit& visit) {
  visit("step", state.step());
  visit("exp_avg", state.exp_avg());
  visit("exp_avg_sq", state.exp_avg_sq());
  visit("max_exp_avg_sq", state.max_exp_avg_sq());
}
template <class Visit>
void each_field(optim::AdamParamState& state, const Visit& visit) {
  each_adam_field(state, visit);
}
template <class Visit>
void each_field(optim::AdamWParamState& state, const Visit& visit) {
  each_adam_field(state, visit);
}
template <class Visit>
void each_field(optim::SGDParamState& state, const Visit& visit) {
  visit("momentum_buffer", state.momentum_buffer());
}
template <class Visit>
void each_field(optim::RMSpropParamState& state, const Visit& visit) {
  visit("step", state.step());
  visit("square_avg", state.square_avg());
  visit("momentum_buffer", state.momentum_buffer());
  visit("grad_avg", state.grad_avg());
}
template <class Visit>
void each_field(optim::AdagradParamState& state, const Visit& visit) {
  visit("step", state.step());
  visit("sum", state.sum());
}

// The tensor that was saved of `like`, on the device of `like`; undefined if none was.
inline ::torch::Tensor tensor_like(const Tensor& saved, const ::torch::Tensor& like) {
  if (saved.shape() == Shape{0} && like.sizes() != ::torch::IntArrayRef({0})) return {};
  const ::torch::NoGradGuard no_grad;
  ::torch::Tensor tensor = ::torch::empty_like(like);
  tensor.copy_(view_of(saved));
  return tensor;
}

inline void expect_sizes_of(const std::string& name, const Tensor& value, const ::torch::Tensor& parameter) {
  const ::torch::IntArrayRef sizes = parameter.sizes();
  const Shape shape(std::span<const std::int64_t>(sizes.data(), sizes.size()));
  if (value.shape() == shape || value.shape() == Shape{0}) return;
  throw InvalidArgumentError(
      "'{}' has the shape {}, and its parameter {}; to begin anew with a layer that has grown, leave the state of its "
      "parameters out: `restore` = RestoreRules with `rename` = {{{{\"{}\", \"\"}}}}",
      name, value.shape(), shape, name.substr(0, name.rfind('/')));
}

[[nodiscard]] inline std::size_t count_parameters(const optim::Optimizer& optimizer) {
  std::size_t count = 0;
  for (const auto& group : optimizer.param_groups()) count += group.params().size();
  return count;
}

// A parameter by its place in an optimizer, where the program may put another tensor.
struct ParameterAt {
  std::string name{};  // of the optimizer
  optim::Optimizer* optimizer = nullptr;
  std::size_t group = 0;
  std::size_t index = 0;
  std::size_t count = 0;  // of all parameters when they were registered

  [[nodiscard]] const ::torch::Tensor& operator()() const {
    if (const std::size_t now = count_parameters(*optimizer); now != count) {
      throw FailedPreconditionError(
          "the optimizer '{}' had {} parameters when it was registered and has {} now: add them before add_optimizer",
          name, count, now);
    }
    return optimizer->param_groups().at(group).params().at(index);
  }
};

template <class State>
void add_field(LoopSession& loop, std::string name, optim::Optimizer& optimizer, const ParameterAt& parameter,
               std::string_view field, Snapshots /*snapshots*/, std::int64_t /*like*/) {
  const auto value_of = [field](State& state) {
    std::int64_t* found = nullptr;
    each_field(state, [&](std::string_view each, auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>) {
        if (each == field) found = &value;
      }
    });
    return found;
  };
  LoopAccess::add_state(loop,
                        {.name = std::move(name),
                         .dtype = DType::Int64,
                         .shape = Shape{},
                         .save =
                             [&optimizer, parameter, value_of] {
                               State* const state = find_state<State>(optimizer, parameter());
                               return Tensor(state == nullptr ? kAbsent : *value_of(*state));
                             },
                         .prepare = [&optimizer, parameter, value_of](const Tensor& value) -> std::function<void()> {
                           const std::int64_t number = value.scalar<std::int64_t>();
                           return [&optimizer, parameter, value_of, number] {
                             if (number == kAbsent) return remove_state(optimizer, parameter());
                             *value_of(make_state<State>(optimizer, parameter())) = number;
                           };
                         },
                         .may_fail = true});
}

template <class State>
void add_field(LoopSession& loop, std::string name, optim::Optimizer& optimizer, const ParameterAt& parameter,
               std::string_view field, Snapshots snapshots, const ::torch::Tensor& /*like*/) {
  const DType dtype = dtype_of(parameter().scalar_type(), fmt::format("a parameter of '{}'", name));
  const auto value_of = [field](State& state) {
    ::torch::Tensor* found = nullptr;
    each_field(state, [&](std::string_view each, auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, ::torch::Tensor>) {
        if (each == field) found = &value;
      }
    });
    return found;
  };
  const auto present = [&optimizer, parameter, value_of] {
    State* const state = find_state<State>(optimizer, parameter());
    return state == nullptr ? ::torch::Tensor() : *value_of(*state);
  };
  LoopAccess::add_state(
      loop, {.name = name,
             .dtype = dtype,
             .save = [present, dtype] { return value_or_empty(present(), dtype); },
             .snapshot = [present, snapshots] { return snapshot_of(present(), snapshots); },
             .prepare = [&optimizer, parameter, value_of, name](const Tensor& value) -> std::function<void()> {
               expect_sizes_of(name, value, parameter());
               return [&optimizer, parameter, value_of, value] {
                 ::torch::Tensor restored = tensor_like(value, parameter());
                 if (!restored.defined() && !requires(State& state) { state.step(); })
                   return remove_state(optimizer, parameter());  // SGD asks whether there is a state
                 if (!restored.defined() && find_state<State>(optimizer, parameter()) == nullptr) return;
                 *value_of(make_state<State>(optimizer, parameter())) = std::move(restored);
               };
             },
             .may_fail = true});
}

template <class State>
void add_parameter(LoopSession& loop, const std::string& name, optim::Optimizer& optimizer,
                   const ParameterAt& parameter, Snapshots snapshots) {
  State example;
  each_field(example, [&](std::string_view field, auto& value) {
    add_field<State>(loop, fmt::format("{}/{}", name, field), optimizer, parameter, field, snapshots, value);
  });
}

template <class State, class Options>
void add_all(LoopSession& loop, std::string_view name, optim::Optimizer& optimizer,
             const std::map<const void*, std::string>& names, Snapshots snapshots) {
  const std::size_t count = count_parameters(optimizer);
  for (std::size_t group = 0; group < optimizer.param_groups().size(); ++group) {
    const auto& parameters = optimizer.param_groups()[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto found = names.find(parameters[i].unsafeGetTensorImpl());
      if (found == names.end()) {
        throw InvalidArgumentError(
            "add_optimizer: parameter {} of group {} of '{}' is none of the module's; give the module that holds "
            "all of the optimizer's parameters",
            i, group, name);
      }
      add_parameter<State>(loop, fmt::format("{}/{}", name, found->second), optimizer,
                           ParameterAt{std::string(name), &optimizer, group, i, count}, snapshots);
    }
  }
  add_options<Options>(loop, name, optimizer);
}

}  // namespace trainhook::libtorch::detail

namespace trainhook::libtorch {

void add_optimizer(LoopSession& loop, std::string_view name, ::torch::optim::Optimizer& optimizer,
                   const ::torch::nn::Module& module, Snapshots snapshots) {
  namespace optim = ::torch::optim;
  std::map<const void*, std::string> names;
  for (const auto& [called, parameter] : detail::parameters_of(module))
    names.emplace(parameter.unsafeGetTensorImpl(), called);
  if (dynamic_cast<optim::Adam*>(&optimizer) != nullptr) {
    detail::add_all<optim::AdamParamState, optim::AdamOptions>(loop, name, optimizer, names, snapshots);
  } else if (dynamic_cast<optim::AdamW*>(&optimizer) != nullptr) {
    detail::add_all<optim::AdamWParamState, optim::AdamWOptions>(loop, name, optimizer, names, snapshots);
  } else if (dynamic_cast<optim::SGD*>(&optimizer) != nullptr) {
    detail::add_all<optim::SGDParamState, optim::SGDOptions>(loop, name, optimizer, names, snapshots);
  } else if (dynamic_cast<optim::RMSprop*>(&optimizer) != nullptr) {
    detail::add_all<optim::RMSpropParamState, optim::RMSpropOptions>(loop, name, optimizer, names, snapshots);
  } else if (dynamic_cast<optim::Adagrad*>(&optimizer) != nullptr) {
    detail::add_all<optim::AdagradParamState, optim::AdagradOptions>(loop, name, optimizer, names, snapshots);
  } else if (auto* const lbfgs = dynamic_cast<optim::LBFGS*>(&optimizer)) {
    detail::add_lbfgs(loop, name, *lbfgs, snapshots);
  } else {
    throw UnimplementedError(
        "add_optimizer: '{}' is a {}, of which this library does not know what it keeps; save it by loop.state(\"{}\", "
        "save, load)",
        name, trainhook::detail::short_type_name(typeid(optimizer)), name);
  }
}

namespace detail {

// Gives access to the count of steps, which LibTorch protects.
struct StepsOf : optim::LRScheduler {
  [[nodiscard]] static unsigned& of(optim::LRScheduler& schedule) { return schedule.*(&StepsOf::step_count_); }
};

}  // namespace detail

void add_state(LoopSession& loop, std::string_view name, ::torch::optim::LRScheduler& schedule) {
  detail::LoopAccess::add_state(
      loop, {.name = fmt::format("{}/step_count", name),
             .dtype = DType::Int64,
             .shape = Shape{},
             .save = [&schedule] { return Tensor(static_cast<std::int64_t>(detail::StepsOf::of(schedule))); },
             .prepare = [&schedule](const Tensor& value) -> std::function<void()> {
               const auto count = static_cast<unsigned>(value.scalar<std::int64_t>());
               return [&schedule, count] { detail::StepsOf::of(schedule) = count; };
             }});
}

}  // namespace trainhook::libtorch
