// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that update rows of variables, and kernels of Adadelta, Ftrl and the proximal optimizers.
#pragma once

#include <trainhook/compat/kernels.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/pieces.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

// Each rule reads its numbers from the inputs of a kernel, of which `first` is the first, and changes a row of the
// variable and of its slots, or at most kPiece elements of it, by a row of the gradient.

/// The second version of an op has a number more than the first.
inline bool is_second_version(const KernelContext& context) { return context.node().type().ends_with("V2"); }

/// Slots: the sum of squares. In the second version, the second number is added to its root.
template <class T>
class AdagradRule {
 public:
  static constexpr std::size_t kVariables = 2;

  AdagradRule(const KernelContext& context, std::size_t first)
      : rate_(context.input(first).scalar<T>()),
        epsilon_(is_second_version(context) ? context.input(first + 1).scalar<T>() : T{0}),
        updates_(context.node().attr<bool>("update_slots")) {}

  void operator()(const std::array<ArrayMap<T>, kVariables>& rows, const ConstArrayMap<T>& g) const {
    auto [v, sum] = rows;
    if (updates_) sum += g.square();
    PieceRoom<T> room;
    v -= rate_ * g / (square_roots(sum, room) + epsilon_);
  }

 private:
  T rate_;
  T epsilon_;
  bool updates_;
};

/// Slots: the means of the squares of gradients and of updates. Source: Zeiler, "Adadelta".
template <class T>
class AdadeltaRule {
 public:
  static constexpr std::size_t kVariables = 3;

  AdadeltaRule(const KernelContext& context, std::size_t first)
      : rate_(context.input(first).scalar<T>()),
        rho_(context.input(first + 1).scalar<T>()),
        epsilon_(context.input(first + 2).scalar<T>()) {}

  void operator()(const std::array<ArrayMap<T>, kVariables>& rows, const ConstArrayMap<T>& g) const {
    auto [v, squares, updates] = rows;
    squares = squares * rho_ + g.square() * (T{1} - rho_);
    PieceRoom<T> room;
    PieceRoom<T> room_of_squares;
    ArrayMap<T> update = square_roots(updates + epsilon_, room);
    update = update / square_roots(squares + epsilon_, room_of_squares) * g;
    v -= update * rate_;
    updates = updates * rho_ + update.square() * (T{1} - rho_);
  }

 private:
  T rate_;
  T rho_;
  T epsilon_;
};

/// Slots: the sum of squares, the linear term. In the second version, the number before the last one adds a part of the
/// variable to the gradient, but not to its square. Source: McMahan et al., "Ad click prediction: a view from the
/// trenches".
template <class T>
class FtrlRule {
 public:
  static constexpr std::size_t kVariables = 3;

  FtrlRule(const KernelContext& context, std::size_t first)
      : rate_(context.input(first).scalar<T>()),
        l1_(context.input(first + 1).scalar<T>()),
        l2_(context.input(first + 2).scalar<T>()),
        shrinks_(is_second_version(context)),
        shrinkage_(shrinks_ ? T{2} * context.input(first + 3).scalar<T>() : T{0}),
        power_(-context.input(first + (shrinks_ ? 4 : 3)).scalar<T>()) {
    if (context.node().attr<bool>("multiply_linear_by_lr")) scale_ = rate_;
  }

  void operator()(const std::array<ArrayMap<T>, kVariables>& rows, const ConstArrayMap<T>& g) const {
    auto [v, sum, linear] = rows;
    PieceRoom<T> room;
    PieceRoom<T> room_of_sum;
    const ArrayMap<T> old_roots = roots(sum, room);
    sum += g.square();
    const ArrayMap<T> new_roots = roots(sum, room_of_sum);
    const T factor = scale_ / rate_;  // of the roots
    if (shrinks_) linear += shrinkage_ * v * scale_;
    linear += g * scale_ - (new_roots - old_roots) * factor * v;
    const auto shrunk = [=, limit = l1_ * scale_, more = T{2} * l2_ * scale_]<class V>(const V& x, const V& root) -> V {
      const V rest = x > 0 ? limit - x : -limit - x;
      return (x > 0 ? x : -x) <= limit ? V{} : rest / (root * factor + more);  // NaN stays NaN
    };
    compute(v.data(), v.size(), shrunk, linear.data(), new_roots.data());
  }

 private:
  [[nodiscard]] ArrayMap<T> roots(const ArrayMap<T>& squares, PieceRoom<T>& room) const {
    if (power_ == T{0.5}) return square_roots(squares, room);
    ArrayMap<T> result(room.elements.data(), squares.size());
    result = squares.pow(power_);
    return result;
  }

  T rate_;
  T l1_;
  T l2_;
  bool shrinks_;
  T shrinkage_;  // twice the number
  T power_;
  T scale_ = 1;
};

/// Slots: the accumulated gradients. Its second number comes behind the gradient and the indices.
template <class T>
class MomentumRule {
 public:
  static constexpr std::size_t kVariables = 2;

  MomentumRule(const KernelContext& context, std::size_t first)
      : rate_(context.input(first).scalar<T>()),
        momentum_(context.input(first + 3).scalar<T>()),
        nesterov_(context.node().attr<bool>("use_nesterov")) {}

  void operator()(const std::array<ArrayMap<T>, kVariables>& rows, const ConstArrayMap<T>& g) const {
    auto [v, sum] = rows;
    sum = sum * momentum_ + g;
    if (nesterov_) {
      v -= g * rate_ + sum * (momentum_ * rate_);
    } else {
      v -= sum * rate_;
    }
  }

 private:
  T rate_;
  T momentum_;
  bool nesterov_;
};

/// Slots: the mean of the squares, the momentum.
template <class T>
class RMSPropRule {
 public:
  static constexpr std::size_t kVariables = 3;

  RMSPropRule(const KernelContext& context, std::size_t first)
      : rate_(context.input(first).scalar<T>()),
        rho_(context.input(first + 1).scalar<T>()),
        momentum_(context.input(first + 2).scalar<T>()),
        epsilon_(context.input(first + 3).scalar<T>()) {}

  void operator()(const std::array<ArrayMap<T>, kVariables>& rows, const ConstArrayMap<T>& g) const {
    auto [v, squares, moment] = rows;
    squares = squares * rho_ + g.square() * (T{1} - rho_);
    PieceRoom<T> room;
    moment = moment * momentum_ + g * rate_ / square_roots(squares + epsilon_, room);
    v -= moment;
  }

 private:
  T rate_;
  T rho_;
  T momentum_;
  T epsilon_;
};

/// What is left of a step if the sizes of the numbers cost l1, and their squares l2. Source: Duchi and Singer,
/// "Efficient learning using forward-backward splitting".
template <class T>
class Proximal {
 public:
  Proximal(const KernelContext& context, std::size_t first)
      : l1_(context.input(first).scalar<T>()), l2_(context.input(first + 1).scalar<T>()) {}

  /// `v` after the step, of which each element has the rate `rate`.
  void shrink(ArrayMap<T>& v, const auto& rate) const {
    if (l1_ > 0) {
      const auto shrunk = ((((v.abs)() - rate * l1_).max)(T{0}) / (rate * l2_ + T{1}));
      v = (v < T{0}).select(-shrunk, shrunk);  // NaN stays NaN, whose sign is 0 with some vectors
    } else {
      v = v / (rate * l2_ + T{1});
    }
  }

 private:
  T l1_;
  T l2_;
};

template <class T>
class ProximalGradientDescentRule {
 public:
  static constexpr std::size_t kVariables = 1;

  ProximalGradientDescentRule(const KernelContext& context, std::size_t first)
      : rate_(context.input(first).scalar<T>()), proximal_(context, first + 1) {}

  void operator()(const std::array<ArrayMap<T>, kVariables>& rows, const ConstArrayMap<T>& g) const {
    ArrayMap<T> v = rows[0];
    v -= g * rate_;
    proximal_.shrink(v, repeated(rate_, v.size()));
  }

 private:
  T rate_;
  Proximal<T> proximal_;
};

/// Slots: the sum of squares.
template <class T>
class ProximalAdagradRule {
 public:
  static constexpr std::size_t kVariables = 2;

  ProximalAdagradRule(const KernelContext& context, std::size_t first)
      : rate_(context.input(first).scalar<T>()), proximal_(context, first + 1) {}

  void operator()(const std::array<ArrayMap<T>, kVariables>& rows, const ConstArrayMap<T>& g) const {
    auto [v, sum] = rows;
    sum += g.square();
    PieceRoom<T> room;
    ArrayMap<T> rate(room.elements.data(), sum.size());
    rate = rate_ / square_roots(sum, room);
    v -= g * rate;
    proximal_.shrink(v, rate);
  }

 private:
  T rate_;
  Proximal<T> proximal_;
};

/// The variable and its slots, in place.
template <class T, std::size_t N>
std::array<T*, N> variables_in_place(const KernelContext& context) {
  const Shape& shape = context.variable(0).value.shape();
  std::array<T*, N> result{};
  for (std::size_t i = 0; i < N; ++i) {
    Tensor& value = context.variable(i).value;
    if (value.shape() != shape) {
      throw InvalidArgumentError("variable '{}' has shape {}, its slot '{}' {}", context.variable(0).node().name(),
                                 shape, context.variable(i).node().name(), value.shape());
    }
    result[i] = value.template mutable_data<T>().data();
  }
  return result;
}

template <class T, template <class> class Rule>
void update_row(const Rule<T>& rule, const std::array<T*, Rule<T>::kVariables>& starts, std::int64_t at,
                const T* gradient, std::int64_t size) {
  in_pieces(static_cast<std::size_t>(size), [&](Eigen::Index from, Eigen::Index n) {
    const ConstArrayMap<T> g(gradient + from, n);
    const auto part = [&](std::size_t i) { return ArrayMap<T>(starts[i] + at + from, n); };
    if constexpr (Rule<T>::kVariables == 1) {
      rule({part(0)}, g);
    } else if constexpr (Rule<T>::kVariables == 2) {
      rule({part(0), part(1)}, g);
    } else {
      rule({part(0), part(1), part(2)}, g);
    }
  });
}

/// All of a variable. Inputs `Gradient` and `First` are the gradient and the first number of the rule.
template <class T, template <class> class Rule, std::size_t Gradient, std::size_t First>
void apply(KernelContext& context) {
  const Shape& shape = context.variable(0).value.shape();
  if (context.shape(Gradient) != shape) {
    throw InvalidArgumentError("variable '{}' has shape {}, its gradient {}", context.variable(0).node().name(), shape,
                               context.shape(Gradient));
  }
  const Rule<T> rule(context, First);
  const auto variables = variables_in_place<T, Rule<T>::kVariables>(context);
  for_each_block(context, {shape.num_elements(), 1}, [&](const Block& block) {
    update_row<T, Rule>(rule, variables, block.begin, context.data<T>(Gradient).data() + block.begin, block.size());
  });
}

/// The rows that the input behind the gradient names, one after the other.
template <class T, class Index, template <class> class Rule, std::size_t Gradient, std::size_t First>
void apply_to_rows(KernelContext& context) {
  const Shape& shape = context.variable(0).value.shape();
  const Shape& gradient = context.shape(Gradient);
  const std::span<const Index> indices = context.data<Index>(Gradient + 1);
  bool fits =
      shape.rank() > 0 && gradient.rank() == shape.rank() && gradient[0] == static_cast<std::int64_t>(indices.size());
  for (std::size_t i = 1; fits && i < shape.rank(); ++i) fits = gradient[i] == shape[i];
  if (!fits) {
    throw InvalidArgumentError("variable '{}' has shape {}, the gradient of {} of its rows {}",
                               context.variable(0).node().name(), shape, indices.size(), gradient);
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= shape[0])
      throw InvalidArgumentError("indices[{}] = {} is not in [0, {})", i, indices[i], shape[0]);
  }
  const Rule<T> rule(context, First);
  const auto starts = variables_in_place<T, Rule<T>::kVariables>(context);
  const std::int64_t size = product_of(shape, 1, shape.rank());
  const T* row = context.data<T>(Gradient).data();
  for (const Index index : indices) {
    update_row<T, Rule>(rule, starts, index * size, row, size);
    row += size;
  }
}

template <template <class> class Rule, std::size_t Gradient, std::size_t First>
Kernel make_apply(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(apply<T, Rule, Gradient, First>); });
}
template <template <class> class Rule, std::size_t Gradient, std::size_t First>
Kernel make_apply_to_rows(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "Tindices",
                      []<class Index>() { return Kernel(apply_to_rows<T, Index, Rule, Gradient, First>); });
  });
}

inline constexpr std::array kSparseTraining{
    KernelDef{.type = "ApplyAdadelta", .make = make_apply<AdadeltaRule, 6, 3>, .variables = 3, .writes = true},
    KernelDef{
        .type = "ApplyProximalAdagrad", .make = make_apply<ProximalAdagradRule, 5, 2>, .variables = 2, .writes = true},
    KernelDef{.type = "ApplyProximalGradientDescent",
              .make = make_apply<ProximalGradientDescentRule, 4, 1>,
              .variables = 1,
              .writes = true},
    KernelDef{
        .type = "SparseApplyMomentum", .make = make_apply_to_rows<MomentumRule, 3, 2>, .variables = 2, .writes = true},
    KernelDef{
        .type = "SparseApplyRMSProp", .make = make_apply_to_rows<RMSPropRule, 7, 3>, .variables = 3, .writes = true},
    KernelDef{.type = "ApplyAdagradV2", .make = make_apply<AdagradRule, 4, 2>, .variables = 2, .writes = true},
    KernelDef{.type = "ApplyFtrl", .make = make_apply<FtrlRule, 3, 4>, .variables = 3, .writes = true},
    KernelDef{.type = "ApplyFtrlV2", .make = make_apply<FtrlRule, 3, 4>, .variables = 3, .writes = true},
    KernelDef{
        .type = "SparseApplyAdadelta", .make = make_apply_to_rows<AdadeltaRule, 6, 3>, .variables = 3, .writes = true},
    KernelDef{
        .type = "SparseApplyAdagrad", .make = make_apply_to_rows<AdagradRule, 3, 2>, .variables = 2, .writes = true},
    KernelDef{
        .type = "SparseApplyAdagradV2", .make = make_apply_to_rows<AdagradRule, 4, 2>, .variables = 2, .writes = true},
    KernelDef{.type = "SparseApplyFtrlV2", .make = make_apply_to_rows<FtrlRule, 3, 5>, .variables = 3, .writes = true},
    KernelDef{.type = "SparseApplyFtrl", .make = make_apply_to_rows<FtrlRule, 3, 5>, .variables = 3, .writes = true},
};

}  // namespace detail

KernelGroup sparse_training() noexcept { return detail::kSparseTraining; }

}  // namespace trainhook::kernels
