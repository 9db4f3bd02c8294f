// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of optimizers.hpp.
#pragma once

#include <trainhook/torch/optimizers.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/type_name.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/torch/modules.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch::detail {

namespace optim = ::torch::optim;
using trainhook::detail::LoopAccess;
using trainhook::detail::StateBinding;

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

// The optimizer's state of a parameter: LibTorch 1 finds it by the address of the tensor as text, 2 by the address.
template <class Map>
auto key_in(const Map& /*states*/, const ::torch::Tensor& parameter) {
  if constexpr (std::is_same_v<typename Map::key_type, std::string>) {
    return c10::guts::to_string(parameter.unsafeGetTensorImpl());
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

inline constexpr std::int64_t kAbsent = -1;

inline Tensor value_or_empty(const ::torch::Tensor& tensor, DType dtype) {
  return tensor.defined() ? to_tensor(tensor) : Tensor(dtype, Shape{0});
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
  throw InvalidArgumentError("'{}' has the shape {}, and its parameter {}", name, value.shape(), shape);
}

template <class State>
void add_field(LoopSession& loop, std::string name, optim::Optimizer& optimizer, const ::torch::Tensor& parameter,
               std::string_view field, std::int64_t /*like*/) {
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
                               State* const state = find_state<State>(optimizer, parameter);
                               return Tensor(state == nullptr ? kAbsent : *value_of(*state));
                             },
                         .prepare = [&optimizer, parameter, value_of](const Tensor& value) -> std::function<void()> {
                           const std::int64_t number = value.scalar<std::int64_t>();
                           return [&optimizer, parameter, value_of, number] {
                             if (number == kAbsent) return remove_state(optimizer, parameter);
                             *value_of(make_state<State>(optimizer, parameter)) = number;
                           };
                         },
                         .may_fail = true});
}

template <class State>
void add_field(LoopSession& loop, std::string name, optim::Optimizer& optimizer, const ::torch::Tensor& parameter,
               std::string_view field, const ::torch::Tensor& /*like*/) {
  const DType dtype = dtype_of(parameter.scalar_type(), fmt::format("a parameter of '{}'", name));
  const auto value_of = [field](State& state) {
    ::torch::Tensor* found = nullptr;
    each_field(state, [&](std::string_view each, auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, ::torch::Tensor>) {
        if (each == field) found = &value;
      }
    });
    return found;
  };
  LoopAccess::add_state(
      loop, {.name = name,
             .dtype = dtype,
             .save =
                 [&optimizer, parameter, value_of, dtype] {
                   State* const state = find_state<State>(optimizer, parameter);
                   return value_or_empty(state == nullptr ? ::torch::Tensor() : *value_of(*state), dtype);
                 },
             .prepare = [&optimizer, parameter, value_of, name](const Tensor& value) -> std::function<void()> {
               expect_sizes_of(name, value, parameter);
               return [&optimizer, parameter, value_of, value] {
                 ::torch::Tensor restored = tensor_like(value, parameter);
                 if (!restored.defined() && !requires(State& state) { state.step(); })
                   return remove_state(optimizer, parameter);  // SGD asks whether there is a state
                 if (!restored.defined() && find_state<State>(optimizer, parameter) == nullptr) return;
                 *value_of(make_state<State>(optimizer, parameter)) = std::move(restored);
               };
             },
             .may_fail = true});
}

template <class State>
void add_parameter(LoopSession& loop, const std::string& name, optim::Optimizer& optimizer,
                   const ::torch::Tensor& parameter) {
  State example;
  each_field(example, [&](std::string_view field, auto& value) {
    add_field<State>(loop, fmt::format("{}/{}", name, field), optimizer, parameter, field, value);
  });
}

template <class Number>
void add_option(LoopSession& loop, std::string name, std::function<Number&()> option) {
  LoopAccess::add_state(loop, {.name = std::move(name),
                               .dtype = DType::Double,
                               .shape = Shape{},
                               .save = [option] { return Tensor(static_cast<double>(option())); },
                               .prepare = [option](const Tensor& value) -> std::function<void()> {
                                 const auto number = static_cast<Number>(value.scalar<double>());
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
      add_option<Number>(loop, fmt::format("{}/group_{}/{}", name, group, option), [options, option]() -> Number& {
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

template <class State, class Options>
void add_all(LoopSession& loop, std::string_view name, optim::Optimizer& optimizer,
             const std::map<const void*, std::string>& names) {
  for (std::size_t group = 0; group < optimizer.param_groups().size(); ++group) {
    const auto& parameters = optimizer.param_groups()[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto found = names.find(parameters[i].unsafeGetTensorImpl());
      if (found == names.end()) {
        throw InvalidArgumentError(
            "add_optimizer: parameter {} of group {} of '{}' is none of the module's; give the module that holds all "
            "of "
            "the optimizer's parameters",
            i, group, name);
      }
      add_parameter<State>(loop, fmt::format("{}/{}", name, found->second), optimizer, parameters[i]);
    }
  }
  add_options<Options>(loop, name, optimizer);
}

// The one state of LBFGS, which it keeps for the first of its parameters.
class LbfgsState {
 public:
  explicit LbfgsState(optim::Optimizer& optimizer)
      : optimizer_(&optimizer), first_(optimizer.param_groups().at(0).params().at(0)) {}

  [[nodiscard]] optim::LBFGSParamState* find() const { return find_state<optim::LBFGSParamState>(*optimizer_, first_); }
  optim::LBFGSParamState& make() const { return make_state<optim::LBFGSParamState>(*optimizer_, first_); }
  void remove() const { remove_state(*optimizer_, first_); }
  [[nodiscard]] const ::torch::Tensor& like() const { return first_; }

 private:
  optim::Optimizer* optimizer_;
  ::torch::Tensor first_;
};

// A number of it; `get` returns a reference. The one called `n_iter` tells whether there is a state.
template <class Number, class Get>
void add_number(LoopSession& loop, const std::string& name, const LbfgsState& state, bool decides, Get get) {
  LoopAccess::add_state(loop, {.name = name,
                               .dtype = trainhook::dtype_of<Number>,
                               .shape = Shape{},
                               .save =
                                   [state, get] {
                                     auto* const found = state.find();
                                     return Tensor(found == nullptr ? Number{kAbsent} : get(*found));
                                   },
                               .prepare = [state, get, decides](const Tensor& value) -> std::function<void()> {
                                 const Number number = value.scalar<Number>();
                                 return [state, get, decides, number] {
                                   if (decides && number == Number{kAbsent}) return state.remove();
                                   if (!decides && state.find() == nullptr) return;
                                   get(state.make()) = number;
                                 };
                               },
                               .may_fail = true});
}

// Its tensors, given and taken as one: `get` returns an undefined tensor if there is none.
template <class Get, class Set>
void add_tensors(LoopSession& loop, const std::string& name, const LbfgsState& state, Get get, Set set) {
  const DType dtype = dtype_of(state.like().scalar_type(), fmt::format("a parameter of '{}'", name));
  LoopAccess::add_state(
      loop, {.name = name,
             .dtype = dtype,
             .save =
                 [state, get, dtype] {
                   auto* const found = state.find();
                   const ::torch::Tensor value = found == nullptr ? ::torch::Tensor() : get(*found);
                   // LibTorch begins with an integer for H_diag.
                   return value_or_empty(value.defined() ? value.to(state.like().scalar_type()) : value, dtype);
                 },
             .prepare = [state, set](const Tensor& value) -> std::function<void()> {
               return [state, set, value] {
                 if (state.find() == nullptr) return;
                 const ::torch::NoGradGuard no_grad;
                 set(state.make(),
                     value.shape() == Shape{0} ? ::torch::Tensor() : from_tensor(value).to(state.like().device()));
               };
             },
             .may_fail = true});
}

inline ::torch::Tensor stacked(const std::deque<::torch::Tensor>& tensors) {
  return tensors.empty() ? ::torch::Tensor()
                         : ::torch::stack(std::vector<::torch::Tensor>(tensors.begin(), tensors.end()));
}

inline std::deque<::torch::Tensor> unstacked(const ::torch::Tensor& tensors) {
  std::deque<::torch::Tensor> all;
  for (std::int64_t i = 0; tensors.defined() && i < tensors.size(0); ++i) all.push_back(tensors[i].clone());
  return all;
}

inline void add_lbfgs(LoopSession& loop, std::string_view name, optim::LBFGS& optimizer) {
  using State = optim::LBFGSParamState;
  const LbfgsState state(optimizer);
  const auto called = [name](std::string_view field) { return fmt::format("{}/all/{}", name, field); };
  add_number<std::int64_t>(loop, called("n_iter"), state, true, [](State& of) -> std::int64_t& { return of.n_iter(); });
  add_number<std::int64_t>(loop, called("func_evals"), state, false,
                           [](State& of) -> std::int64_t& { return of.func_evals(); });
  add_number<double>(loop, called("t"), state, false, [](State& of) -> double& { return of.t(); });
  add_number<double>(loop, called("prev_loss"), state, false, [](State& of) -> double& { return of.prev_loss(); });
  add_tensors(
      loop, called("d"), state, [](State& of) { return of.d(); },
      [](State& of, const ::torch::Tensor& value) { of.d(value); });
  add_tensors(
      loop, called("H_diag"), state, [](State& of) { return of.H_diag(); },
      [](State& of, const ::torch::Tensor& value) { of.H_diag(value); });
  add_tensors(
      loop, called("prev_flat_grad"), state, [](State& of) { return of.prev_flat_grad(); },
      [](State& of, const ::torch::Tensor& value) { of.prev_flat_grad(value); });
  add_tensors(
      loop, called("old_dirs"), state, [](State& of) { return stacked(of.old_dirs()); },
      [](State& of, const ::torch::Tensor& value) { of.old_dirs(unstacked(value)); });
  add_tensors(
      loop, called("old_stps"), state, [](State& of) { return stacked(of.old_stps()); },
      [](State& of, const ::torch::Tensor& value) { of.old_stps(unstacked(value)); });
  add_tensors(
      loop, called("ro"), state, [](State& of) { return stacked(of.ro()); },
      [](State& of, const ::torch::Tensor& value) { of.ro(unstacked(value)); });
  add_options<optim::LBFGSOptions>(loop, name, optimizer);
}

}  // namespace trainhook::libtorch::detail

namespace trainhook::libtorch {

void add_optimizer(LoopSession& loop, std::string_view name, ::torch::optim::Optimizer& optimizer,
                   const ::torch::nn::Module& module) {
  namespace optim = ::torch::optim;
  std::map<const void*, std::string> names;
  for (const auto& [called, parameter] : detail::parameters_of(module))
    names.emplace(parameter.unsafeGetTensorImpl(), called);
  if (dynamic_cast<optim::Adam*>(&optimizer) != nullptr) {
    detail::add_all<optim::AdamParamState, optim::AdamOptions>(loop, name, optimizer, names);
  } else if (dynamic_cast<optim::AdamW*>(&optimizer) != nullptr) {
    detail::add_all<optim::AdamWParamState, optim::AdamWOptions>(loop, name, optimizer, names);
  } else if (dynamic_cast<optim::SGD*>(&optimizer) != nullptr) {
    detail::add_all<optim::SGDParamState, optim::SGDOptions>(loop, name, optimizer, names);
  } else if (dynamic_cast<optim::RMSprop*>(&optimizer) != nullptr) {
    detail::add_all<optim::RMSpropParamState, optim::RMSpropOptions>(loop, name, optimizer, names);
  } else if (dynamic_cast<optim::Adagrad*>(&optimizer) != nullptr) {
    detail::add_all<optim::AdagradParamState, optim::AdagradOptions>(loop, name, optimizer, names);
  } else if (auto* const lbfgs = dynamic_cast<optim::LBFGS*>(&optimizer)) {
    detail::add_lbfgs(loop, name, *lbfgs);
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
