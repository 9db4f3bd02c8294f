// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that assign variables.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <span>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

inline Kernel make_assign(const Node& node) {
  return [checks = node.attr<bool>("validate_shape")](KernelContext& context) {
    VariableState& variable = context.variable(0);
    const Tensor& value = context.input(1);
    if (checks && !variable.shape().compatible_with(value.shape())) {
      throw InvalidArgumentError("Assign requires shapes of both tensors to match; the variable has {}, the value {}",
                                 variable.shape(), value.shape());
    }
    context.move_input(1, variable.value);
  };
}

template <class T, bool Adds>
void assign_update(KernelContext& context) {
  Tensor& variable = context.variable(0).value;
  const std::span<const T> delta = context.data<T>(1);
  if (variable.shape() != context.shape(1)) {
    throw InvalidArgumentError("the variable has shape {}, what is to be {}{}", variable.shape(),
                               Adds ? "added " : "subtracted ", context.shape(1));
  }
  const Tensor::Update<T> values = variable.update_data<T>();
  if constexpr (Adds) {
    as_array(values.to) = as_array(values.from) + as_array(delta);
  } else {
    as_array(values.to) = as_array(values.from) - as_array(delta);
  }
}

template <bool Adds>
Kernel make_assign_update(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", []<class T>() { return Kernel(assign_update<T, Adds>); });
}

inline Kernel make_is_variable_initialized(const Node&) {
  return +[](KernelContext& context) { context.set_output(0, Tensor(context.variable(0).value.has_value())); };
}

inline constexpr std::array kState{
    KernelDef{.type = "Assign", .make = make_assign, .variables = 1, .writes = true, .initializes = true},
    KernelDef{.type = "AssignAdd", .make = make_assign_update<true>, .variables = 1, .writes = true},
    KernelDef{.type = "AssignSub", .make = make_assign_update<false>, .variables = 1, .writes = true},
    KernelDef{.type = "IsVariableInitialized",
              .make = make_is_variable_initialized,
              .variables = 1,
              .initializes = true,
              .stateful = true},
};

}  // namespace detail

KernelGroup state() noexcept { return detail::kState; }

}  // namespace trainhook::kernels
