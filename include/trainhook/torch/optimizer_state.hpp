// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where LibTorch's optimizers keep their state, and the options of their groups as state of a loop; and the state of
/// LBFGS, which has one for all parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <torch/optim.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch::detail {

namespace optim = ::torch::optim;
using trainhook::detail::LoopAccess;

// The optimizer's state of a parameter: LibTorch 1 finds it by the address of the tensor as text, 2 by the address.
template <class Map>
auto key_in(const Map& /*states*/, const ::torch::Tensor& parameter) {
  if constexpr (std::is_same_v<typename Map::key_type, std::string>) {
    return c10::str(parameter.unsafeGetTensorImpl());
  } else {
    return static_cast<void*>(parameter.unsafeGetTensorImpl());
  }
}

template <class State>
State* find_state(optim::Optimizer& optimizer, const ::torch::Tensor& parameter) {
  const auto found = optimizer.state().find(key_in(optimizer.state(), parameter));
  return found == optimizer.state().end() ? nullptr : static_cast<State*>(found->second.get());
}

template <class State>
State& make_state(optim::Optimizer& optimizer, const ::torch::Tensor& parameter) {
  auto& state = optimizer.state()[key_in(optimizer.state(), parameter)];
  if (state == nullptr) state = std::make_unique<State>();
  return static_cast<State&>(*state);
}

inline void remove_state(optim::Optimizer& optimizer, const ::torch::Tensor& parameter) {
  optimizer.state().erase(key_in(optimizer.state(), parameter));
}

// In checkpoints, in place of a number that is not there.
inline constexpr std::int64_t kAbsent = -1;

inline Tensor value_or_empty(const ::torch::Tensor& tensor, DType dtype) {
  return tensor.defined() ? to_tensor(tensor) : Tensor(dtype, Shape{0});
}

template <class Options, class Visit>
void each_adam_option(Options& options, const Visit& visit) {
  visit("lr", options.lr());
  visit("beta1", std::get<0>(options.betas()));
  visit("beta2", std::get<1>(options.betas()));
  visit("eps", options.eps());
  visit("weight_decay", options.weight_decay());
  visit("amsgrad", options.amsgrad());
}
template <class Visit>
void each_option(optim::AdamOptions& options, const Visit& visit) {
  each_adam_option(options, visit);
}
template <class Visit>
void each_option(optim::AdamWOptions& options, const Visit& visit) {
  each_adam_option(options, visit);
}
template <class Visit>
void each_option(optim::SGDOptions& options, const Visit& visit) {
  visit("lr", options.lr());
  visit("momentum", options.momentum());
  visit("dampening", options.dampening());
  visit("weight_decay", options.weight_decay());
  visit("nesterov", options.nesterov());
}
template <class Visit>
void each_option(optim::RMSpropOptions& options, const Visit& visit) {
  visit("lr", options.lr());
  visit("alpha", options.alpha());
  visit("eps", options.eps());
  visit("weight_decay", options.weight_decay());
  visit("momentum", options.momentum());
  visit("centered", options.centered());
}
template <class Visit>
void each_option(optim::AdagradOptions& options, const Visit& visit) {
  visit("lr", options.lr());
  visit("lr_decay", options.lr_decay());
  visit("weight_decay", options.weight_decay());
  visit("initial_accumulator_value", options.initial_accumulator_value());
  visit("eps", options.eps());
}
template <class Visit>
void each_option(optim::LBFGSOptions& options, const Visit& visit) {
  visit("lr", options.lr());
  visit("max_iter", options.max_iter());
  visit("tolerance_grad", options.tolerance_grad());
  visit("tolerance_change", options.tolerance_change());
  visit("history_size", options.history_size());
}

template <class Number>
void add_option(LoopSession& loop, const std::string& name, std::function<Number&()> option) {
  LoopAccess::add_state(loop, {.name = name,
                               .dtype = DType::Double,
                               .shape = Shape{},
                               .save = [option] { return Tensor(static_cast<double>(option())); },
                               .prepare = [option, name](const Tensor& value) -> std::function<void()> {
                                 const double saved = value.scalar<double>();
                                 if (std::is_integral_v<Number> && !(saved >= 0 && saved <= 1e9))
                                   throw DataLossError("'{}' is {}, which no optimizer has", name, saved);
                                 const auto number = static_cast<Number>(saved);
                                 return [option, number] { option() = number; };
                               }});
}

template <class Options>
void add_options(LoopSession& loop, std::string_view name, optim::Optimizer& optimizer) {
  for (std::size_t group = 0; group < optimizer.param_groups().size(); ++group) {
    const auto options = [&optimizer, group]() -> Options& {
      return static_cast<Options&>(optimizer.param_groups().at(group).options());
    };
    each_option(options(), [&](std::string_view option, auto& value) {
      using Number = std::decay_t<decltype(value)>;
      add_option<Number>(loop, std::string(name) + "/group_" + std::to_string(group) + "/" + std::string(option),
                         [options, option]() -> Number& {
                           Number* found = nullptr;
                           each_option(options(), [&](std::string_view each, auto& one) {
                             if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Number>) {
                               if (each == option) found = &one;
                             }
                           });
                           return *found;
                         });
    });
  }
}

/// See `add_optimizer`.
TRAINHOOK_DECL void add_lbfgs(LoopSession& loop, std::string_view name, ::torch::optim::LBFGS& optimizer,
                              Snapshots snapshots);

}  // namespace trainhook::libtorch::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/lbfgs.ipp>
#endif
