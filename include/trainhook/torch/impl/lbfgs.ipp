// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/torch/optimizer_state.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/utils.h>

#include <trainhook/core/saveable.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch::detail {

// The one state of LBFGS, which it keeps for the first of its parameters.
class LbfgsState {
 public:
  explicit LbfgsState(optim::Optimizer& optimizer) : optimizer_(&optimizer) {}

  [[nodiscard]] optim::LBFGSParamState* find() const { return find_state<optim::LBFGSParamState>(*optimizer_, like()); }
  optim::LBFGSParamState& make() const { return make_state<optim::LBFGSParamState>(*optimizer_, like()); }
  void remove() const { remove_state(*optimizer_, like()); }
  [[nodiscard]] const ::torch::Tensor& like() const { return optimizer_->param_groups().at(0).params().at(0); }
  [[nodiscard]] std::int64_t elements() const {
    std::int64_t all = 0;
    for (const ::torch::Tensor& one : optimizer_->param_groups().at(0).params()) all += one.numel();
    return all;
  }

 private:
  optim::Optimizer* optimizer_;
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
                                   if (number == Number{kAbsent} && state.find() == nullptr) return;
                                   get(state.make()) = number;
                                 };
                               },
                               .may_fail = true});
}

// Its tensors, given and taken as one: `get` returns an undefined tensor if there is none. They have `rank` dimensions,
// the last of which has all elements of the parameters if they are `wide`.
template <class Get, class Set>
void add_tensors(LoopSession& loop, const std::string& name, const LbfgsState& state, std::size_t rank, bool wide,
                 Snapshots snapshots, Get get, Set set) {
  const DType dtype = dtype_of(state.like().scalar_type(), fmt::format("a parameter of '{}'", name));
  const auto present = [state, get] {
    auto* const found = state.find();
    const ::torch::Tensor value = found == nullptr ? ::torch::Tensor() : get(*found);
    return value.defined() ? value.to(state.like().scalar_type())
                           : value;  // LibTorch begins with an integer for H_diag
  };
  LoopAccess::add_state(
      loop, {.name = name,
             .dtype = dtype,
             .save = [present, dtype] { return value_or_empty(present(), dtype); },
             .snapshot = [state, present, snapshots]() -> std::function<Tensor()> {
               if (snapshots == Snapshots::OnHost || state.like().device().is_cpu()) return {};
               try {
                 return snapshot_of(present(), snapshots);
               } catch (const ::c10::Error&) {  // no room to put the history together
                 return {};
               }
             },
             .prepare = [=](const Tensor& value) -> std::function<void()> {
               const Shape& shape = value.shape();
               if (shape != Shape{0} && (shape.rank() != rank || (wide && shape[rank - 1] != state.elements())))
                 throw DataLossError("'{}' has shape {}, which is not one of this optimizer's", name, shape);
               return [state, set, value] {
                 if (value.shape() == Shape{0} && state.find() == nullptr) return;
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

void add_lbfgs(LoopSession& loop, std::string_view name, optim::LBFGS& optimizer, Snapshots snapshots) {
  using State = optim::LBFGSParamState;
  const LbfgsState state(optimizer);
  for (const ::torch::Tensor& one : optimizer.param_groups().at(0).params()) {
    if (one.scalar_type() != state.like().scalar_type())
      throw UnimplementedError("add_optimizer: '{}': an LBFGS over parameters of several dtypes cannot be saved", name);
  }
  const auto called = [name](std::string_view field) { return fmt::format("{}/all/{}", name, field); };
  add_number<std::int64_t>(loop, called("n_iter"), state, true, [](State& of) -> std::int64_t& { return of.n_iter(); });
  add_number<std::int64_t>(loop, called("func_evals"), state, false,
                           [](State& of) -> std::int64_t& { return of.func_evals(); });
  add_number<double>(loop, called("t"), state, false, [](State& of) -> double& { return of.t(); });
  add_number<double>(loop, called("prev_loss"), state, false, [](State& of) -> double& { return of.prev_loss(); });
  add_tensors(
      loop, called("d"), state, 1, true, snapshots, [](State& of) { return of.d(); },
      [](State& of, const ::torch::Tensor& value) { of.d(value); });
  add_tensors(
      loop, called("H_diag"), state, 0, false, snapshots, [](State& of) { return of.H_diag(); },
      [](State& of, const ::torch::Tensor& value) { of.H_diag(value); });
  add_tensors(
      loop, called("prev_flat_grad"), state, 1, true, snapshots, [](State& of) { return of.prev_flat_grad(); },
      [](State& of, const ::torch::Tensor& value) { of.prev_flat_grad(value); });
  add_tensors(
      loop, called("old_dirs"), state, 2, true, snapshots, [](State& of) { return stacked(of.old_dirs()); },
      [](State& of, const ::torch::Tensor& value) { of.old_dirs(unstacked(value)); });
  add_tensors(
      loop, called("old_stps"), state, 2, true, snapshots, [](State& of) { return stacked(of.old_stps()); },
      [](State& of, const ::torch::Tensor& value) { of.old_stps(unstacked(value)); });
  add_tensors(
      loop, called("ro"), state, 1, false, snapshots, [](State& of) { return stacked(of.ro()); },
      [](State& of, const ::torch::Tensor& value) { of.ro(unstacked(value)); });
  add_options<optim::LBFGSOptions>(loop, name, optimizer);
}

}  // namespace trainhook::libtorch::detail
