// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of optimizers, each a single pass over a variable, its slots and its gradient.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>

#include <Eigen/Core>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/pieces.hpp>

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

/// A variable or a slot: its elements before the step, and the place for those after it.
template <class T>
class Slot {
 public:
  Slot(const KernelContext& context, std::size_t i) : values_(context.variable(i).value.template update_data<T>()) {}
  [[nodiscard]] ConstArrayMap<T> before(Eigen::Index at, Eigen::Index n) const { return {values_.from.data() + at, n}; }
  [[nodiscard]] ArrayMap<T> after(Eigen::Index at, Eigen::Index n) const { return {values_.to.data() + at, n}; }

 private:
  Tensor::Update<T> values_;
};

template <class T>
void apply_gradient_descent(KernelContext& context) {
  expect_shapes(context, 1, 2);
  const T alpha = context.input(1).scalar<T>();
  const std::span<const T> delta = context.data<T>(2);
  const Slot<T> var(context, 0);
  in_pieces(context, delta.size(), [&](Eigen::Index at, Eigen::Index n) {
    var.after(at, n) = var.before(at, n) - alpha * ConstArrayMap<T>(delta.data() + at, n);
  });
}

template <class T, bool Nesterov>
void apply_momentum(KernelContext& context) {
  expect_shapes(context, 2, 3);
  const T rate = context.input(2).scalar<T>();
  const T momentum = context.input(4).scalar<T>();
  const std::span<const T> gradient = context.data<T>(3);
  const Slot<T> var(context, 0);
  const Slot<T> accumulated(context, 1);
  in_pieces(context, gradient.size(), [&](Eigen::Index at, Eigen::Index n) {
    const ConstArrayMap<T> g(gradient.data() + at, n);
    ArrayMap<T> a = accumulated.after(at, n);
    a = accumulated.before(at, n) * momentum + g;
    if constexpr (Nesterov) {
      var.after(at, n) = var.before(at, n) - (g * rate + a * (momentum * rate));
    } else {
      var.after(at, n) = var.before(at, n) - a * rate;
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
  const std::span<const T> gradient = context.data<T>(9);
  const Slot<T> var(context, 0);
  const Slot<T> first(context, 1);
  const Slot<T> second(context, 2);
  in_pieces(context, gradient.size(), [&](Eigen::Index at, Eigen::Index n) {
    const ConstArrayMap<T> g(gradient.data() + at, n);
    ArrayMap<T> m = first.after(at, n);
    ArrayMap<T> v = second.after(at, n);
    m = first.before(at, n) + (g - first.before(at, n)) * (T{1} - beta1);
    v = second.before(at, n) + (g.square() - second.before(at, n)) * (T{1} - beta2);
    PieceRoom<T> room;
    const auto root = square_roots(v, room);
    if constexpr (Nesterov) {
      var.after(at, n) = var.before(at, n) - ((g * (T{1} - beta1) + beta1 * m) * rate) / (root + epsilon);
    } else {
      var.after(at, n) = var.before(at, n) - (m * rate) / (root + epsilon);
    }
  });
}

template <class T, bool UpdatesSlots>
void apply_adagrad(KernelContext& context) {
  expect_shapes(context, 2, 3);
  const T rate = context.input(2).scalar<T>();
  const std::span<const T> gradient = context.data<T>(3);
  const Slot<T> var(context, 0);
  if constexpr (UpdatesSlots) {
    const Slot<T> accumulated(context, 1);
    in_pieces(context, gradient.size(), [&](Eigen::Index at, Eigen::Index n) {
      const ConstArrayMap<T> g(gradient.data() + at, n);
      ArrayMap<T> a = accumulated.after(at, n);
      a = accumulated.before(at, n) + g.square();
      PieceRoom<T> room;
      var.after(at, n) = var.before(at, n) - g * rate / square_roots(a, room);
    });
  } else {
    const std::span<const T> accumulated = context.variable(1).value.template data<T>();
    in_pieces(context, gradient.size(), [&](Eigen::Index at, Eigen::Index n) {
      const ConstArrayMap<T> g(gradient.data() + at, n);
      PieceRoom<T> room;
      const auto root = square_roots(ConstArrayMap<T>(accumulated.data() + at, n), room);
      var.after(at, n) = var.before(at, n) - g * rate / root;
    });
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
  const std::span<const T> gradient = context.data<T>(kSlots + 4);
  const Slot<T> var(context, 0);
  std::optional<Slot<T>> mean;
  if constexpr (Centered) mean.emplace(context, 1);
  const Slot<T> mean_square(context, kSlots - 2);
  const Slot<T> moment(context, kSlots - 1);
  in_pieces(context, gradient.size(), [&](Eigen::Index at, Eigen::Index n) {
    const ConstArrayMap<T> g(gradient.data() + at, n);
    ArrayMap<T> ms = mean_square.after(at, n);
    ArrayMap<T> mom = moment.after(at, n);
    ms = mean_square.before(at, n) + (g.square() - mean_square.before(at, n)) * (T{1} - rho);
    PieceRoom<T> room;
    if constexpr (Centered) {
      ArrayMap<T> mg = mean->after(at, n);
      mg = mean->before(at, n) + (g - mean->before(at, n)) * (T{1} - rho);
      mom = moment.before(at, n) * momentum + (g * rate) / square_roots(ms - mg.square() + epsilon, room);
    } else {
      mom = moment.before(at, n) * momentum + (g * rate) / square_roots(ms + epsilon, room);
    }
    var.after(at, n) = var.before(at, n) - mom;
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
