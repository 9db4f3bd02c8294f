// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of optimizers, each a single pass over a variable, its slots and its gradient.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The first `num_slots` inputs are variables of one shape, which the gradient must have too.
inline void expect_shapes(const KernelContext& context, std::size_t num_slots, std::size_t gradient) {
  const Shape& shape = context.variable(0).value.shape();
  for (std::size_t i = 1; i < num_slots; ++i) {
    if (context.variable(i).value.shape() != shape) {
      throw InvalidArgumentError("variable '{}' has shape {}, its slot '{}' {}", context.variable(0).node().name(),
                                 shape, context.variable(i).node().name(), context.variable(i).value.shape());
    }
  }
  if (context.shape(gradient) != shape) {
    throw InvalidArgumentError("variable '{}' has shape {}, its gradient {}", context.variable(0).node().name(), shape,
                               context.shape(gradient));
  }
}

/// A variable or a slot: its elements before the step, and the place for those after it. `V` is a vector of elements or
/// a single one.
template <class T>
class Slot {
 public:
  Slot(const KernelContext& context, std::size_t i) : values_(context.variable(i).value.template update_data<T>()) {}

  template <class V>
  [[nodiscard]] V before(std::int64_t at) const {
    return load<V>(values_.from.data() + at);
  }
  template <class V>
  V set(std::int64_t at, V value) const {
    store(value, values_.to.data() + at);
    return value;
  }

 private:
  Tensor::Update<T> values_;
};

/// Calls `update.operator()<V>(at, gradient)` for the elements from `at` on that a V holds: in vectors, the last ones
/// singly. One loop reads and writes everything, so each array passes through the processor once. `update` holds its
/// slots by value: a copy of it stays in registers, while what it refers to might change with each store.
template <class T, class Update>
void update_elements(const KernelContext& context, std::span<const T> gradient, const Update& update) {
  constexpr auto kSize = static_cast<std::int64_t>(kVectorSize<T>);
  using Vector = typename VectorOf<T, kVectorSize<T>>::type;
  for_each_block(context, {static_cast<std::int64_t>(gradient.size()), 1}, [&](const Block& block) {
    const Update here = update;  // NOLINT(performance-unnecessary-copy-initialization): for the registers
    const T* const g = gradient.data();
    std::int64_t at = block.begin;
    for (; at + kSize <= block.end; at += kSize) here(at, load<Vector>(g + at));
    for (; at < block.end; ++at) here(at, g[at]);
  });
}

template <class T>
void apply_gradient_descent(KernelContext& context) {
  expect_shapes(context, 1, 2);
  const T alpha = context.input(1).scalar<T>();
  const Slot<T> var(context, 0);
  update_elements(context, context.data<T>(2),
                  [=]<class V>(std::int64_t at, V g) { var.set(at, var.template before<V>(at) - alpha * g); });
}

template <class T, bool Nesterov>
void apply_momentum(KernelContext& context) {
  expect_shapes(context, 2, 3);
  const T rate = context.input(2).scalar<T>();
  const T momentum = context.input(4).scalar<T>();
  const Slot<T> var(context, 0);
  const Slot<T> accumulated(context, 1);
  update_elements(context, context.data<T>(3), [=]<class V>(std::int64_t at, V g) {
    const V a = accumulated.set(at, accumulated.template before<V>(at) * momentum + g);
    if constexpr (Nesterov) {
      var.set(at, var.template before<V>(at) - (g * rate + a * (momentum * rate)));
    } else {
      var.set(at, var.template before<V>(at) - a * rate);
    }
  });
}

/// Source: Kingma and Ba, "Adam: a method for stochastic optimization"; in TensorFlow's order of operations.
template <class T, bool Nesterov>
void apply_adam(KernelContext& context) {
  expect_shapes(context, 3, 9);
  const T beta1_power = context.input(3).scalar<T>();
  const T beta2_power = context.input(4).scalar<T>();
  const T beta1 = context.input(6).scalar<T>();
  const T beta2 = context.input(7).scalar<T>();
  const T epsilon = context.input(8).scalar<T>();
  const T rate = context.input(5).scalar<T>() * std::sqrt(T{1} - beta2_power) / (T{1} - beta1_power);
  const Slot<T> var(context, 0);
  const Slot<T> first(context, 1);
  const Slot<T> second(context, 2);
  update_elements(context, context.data<T>(9), [=]<class V>(std::int64_t at, V g) {
    const V old_m = first.template before<V>(at);
    const V old_v = second.template before<V>(at);
    const V m = first.set(at, old_m + (g - old_m) * (T{1} - beta1));
    const V v = second.set(at, old_v + (g * g - old_v) * (T{1} - beta2));
    const V step = Nesterov ? (g * (T{1} - beta1) + beta1 * m) * rate : m * rate;
    var.set(at, var.template before<V>(at) - step / (square_root(v) + epsilon));
  });
}

template <class T, bool UpdatesSlots>
void apply_adagrad(KernelContext& context) {
  expect_shapes(context, 2, 3);
  const T rate = context.input(2).scalar<T>();
  const Slot<T> var(context, 0);
  const auto apply = [=]<class V>(std::int64_t at, V g, V a) {
    var.set(at, var.template before<V>(at) - g * rate / square_root(a));
  };
  if constexpr (UpdatesSlots) {
    const Slot<T> accumulated(context, 1);
    update_elements(context, context.data<T>(3), [=]<class V>(std::int64_t at, V g) {
      apply(at, g, accumulated.set(at, accumulated.template before<V>(at) + g * g));
    });
  } else {
    const T* const accumulated = context.variable(1).value.template data<T>().data();
    update_elements(context, context.data<T>(3),
                    [=]<class V>(std::int64_t at, V g) { apply(at, g, load<V>(accumulated + at)); });
  }
}

/// Slots: the mean of the gradient if centered, the mean of its square, the momentum.
template <class T, bool Centered>
void apply_rms_prop(KernelContext& context) {
  constexpr std::size_t kSlots = Centered ? 4 : 3;  // including the variable
  expect_shapes(context, kSlots, kSlots + 4);
  const T rate = context.input(kSlots).scalar<T>();
  const T rho = context.input(kSlots + 1).scalar<T>();
  const T momentum = context.input(kSlots + 2).scalar<T>();
  const T epsilon = context.input(kSlots + 3).scalar<T>();
  const Slot<T> var(context, 0);
  std::optional<Slot<T>> mean;
  if constexpr (Centered) mean.emplace(context, 1);
  const Slot<T> mean_square(context, kSlots - 2);
  const Slot<T> moment(context, kSlots - 1);
  update_elements(context, context.data<T>(kSlots + 4), [=]<class V>(std::int64_t at, V g) {
    const V old_ms = mean_square.template before<V>(at);
    const V ms = mean_square.set(at, old_ms + (g * g - old_ms) * (T{1} - rho));
    V square = ms + epsilon;
    if constexpr (Centered) {
      const V old_mg = mean->template before<V>(at);
      const V mg = mean->set(at, old_mg + (g - old_mg) * (T{1} - rho));
      square = ms - mg * mg + epsilon;
    }
    const V moved = moment.set(at, moment.template before<V>(at) * momentum + (g * rate) / square_root(square));
    var.set(at, var.template before<V>(at) - moved);
  });
}

inline Kernel make_apply_gradient_descent(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(apply_gradient_descent<T>); });
}
inline Kernel make_apply_momentum(const Node& node) {
  const bool nesterov = node.attr<bool>("use_nesterov");
  return kernel_for(FloatingTypes{}, node, "T", [=]<class T>() {
    return nesterov ? Kernel(apply_momentum<T, true>) : Kernel(apply_momentum<T, false>);
  });
}
inline Kernel make_apply_adam(const Node& node) {
  const bool nesterov = node.attr<bool>("use_nesterov");
  return kernel_for(FloatingTypes{}, node, "T",
                    [=]<class T>() { return nesterov ? Kernel(apply_adam<T, true>) : Kernel(apply_adam<T, false>); });
}
inline Kernel make_apply_adagrad(const Node& node) {
  const bool updates = node.attr<bool>("update_slots");
  return kernel_for(FloatingTypes{}, node, "T", [=]<class T>() {
    return updates ? Kernel(apply_adagrad<T, true>) : Kernel(apply_adagrad<T, false>);
  });
}
template <bool Centered>
Kernel make_apply_rms_prop(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(apply_rms_prop<T, Centered>); });
}

inline constexpr std::array kTraining{
    KernelDef{.type = "ApplyGradientDescent", .make = make_apply_gradient_descent, .variables = 1, .writes = true},
    KernelDef{.type = "ApplyMomentum", .make = make_apply_momentum, .variables = 2, .writes = true},
    KernelDef{.type = "ApplyAdam", .make = make_apply_adam, .variables = 3, .writes = true},
    KernelDef{.type = "ApplyAdagrad", .make = make_apply_adagrad, .variables = 2, .writes = true},
    KernelDef{.type = "ApplyRMSProp", .make = make_apply_rms_prop<false>, .variables = 3, .writes = true},
    KernelDef{.type = "ApplyCenteredRMSProp", .make = make_apply_rms_prop<true>, .variables = 4, .writes = true},
};

}  // namespace detail

KernelGroup training() noexcept { return detail::kTraining; }

}  // namespace trainhook::kernels
