// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of elementwise arithmetic, comparison, logic and functions, with NumPy's broadcasting.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/elementwise.hpp>
#include <trainhook/engine/kernels/pieces.hpp>

#include <unsupported/Eigen/SpecialFunctions>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

// Ops of two arrays. `of` takes and returns Eigen's expressions.
struct Add {
  static auto of(const auto& x, const auto& y) { return x + y; }
};
struct Sub {
  static auto of(const auto& x, const auto& y) { return x - y; }
};
struct Mul {
  static auto of(const auto& x, const auto& y) { return x * y; }
};
struct SquaredDifference {
  static auto of(const auto& x, const auto& y) { return (x - y).square(); }
};
struct RealDiv {
  static auto of(const auto& x, const auto& y) { return x / y; }
};

struct DivNoNan {
  template <class V>
  static V each(const V& x, const V& y) {
    return y == 0 ? V{} : x / y;
  }
};

/// An op that Eigen has no expression for: `Scalar` computes one element from two.
template <class Scalar>
struct ElementByElement {
  static auto of(const auto& x, const auto& y) { return x.binaryExpr(y, Scalar{}); }
};
struct FloorDivOfIntegers {
  template <class T>
  T operator()(T x, T y) const {
    if (y == 0) throw InvalidArgumentError("Integer division by zero");
    if (y == -1) return static_cast<T>(T{0} - x);
    const T quotient = static_cast<T>(x / y);
    return static_cast<T>(x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient);
  }
};
struct FloorDiv {
  template <class X>
  static auto of(const X& x, const auto& y) {
    if constexpr (std::is_floating_point_v<typename X::Scalar>) {
      return (x / y).floor();
    } else {
      return x.binaryExpr(y, FloorDivOfIntegers{});
    }
  }
};
struct FloorModOfTwo {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(x, y);
      return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
    } else {
      if (y == 0) throw InvalidArgumentError("Integer division by zero");
      if (y == -1) return 0;
      const T rest = static_cast<T>(x % y);
      return static_cast<T>(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
    }
  }
};
struct PowOfTwo {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(x == 0 ? std::copysign(T{0}, x) : x, y);  // makes a denormal zero if it counts as zero
    } else {
      if (y < 0) throw InvalidArgumentError("Integers to negative integer powers are not allowed");
      std::make_unsigned_t<T> result = 1;
      for (auto base = static_cast<std::make_unsigned_t<T>>(x); y > 0; y = static_cast<T>(y >> 1), base *= base) {
        if ((y & 1) != 0) result *= base;
      }
      return static_cast<T>(result);
    }
  }
};

// Comparisons. They also take single elements, for strings.
struct Equal {
  static auto of(const auto& x, const auto& y) { return x == y; }
};
struct NotEqual {
  static auto of(const auto& x, const auto& y) { return x != y; }
};
struct Less {
  static auto of(const auto& x, const auto& y) { return x < y; }
};
struct LessEqual {
  static auto of(const auto& x, const auto& y) { return x <= y; }
};
struct Greater {
  static auto of(const auto& x, const auto& y) { return x > y; }
};
struct GreaterEqual {
  static auto of(const auto& x, const auto& y) { return x >= y; }
};
struct LogicalAnd {
  static auto of(const auto& x, const auto& y) { return x && y; }
};
struct LogicalOr {
  static auto of(const auto& x, const auto& y) { return x || y; }
};

// Functions of one array.
struct Abs {
  static auto of(const auto& x) { return (x.abs)(); }
};
struct Neg {
  static auto of(const auto& x) { return -x; }
};
struct Sign {
  struct OfOne {
    template <class T>
    T operator()(T x) const {
      return x > 0 ? T{1} : x < 0 ? T{-1} : x;
    }
  };
  static auto of(const auto& x) { return x.unaryExpr(OfOne{}); }  // Eigen's sign() makes 0 of NaN
};
struct Square {
  static auto of(const auto& x) { return x.square(); }
};
struct Exp {
  static auto of(const auto& x) { return x.exp(); }
};
// If denormals count as zero, the sum makes them zero. Eigen's scalar logarithm, for elements that do not fill a
// vector, does not do so itself.
struct Log {
  static auto of(const auto& x) { return (x + typename std::decay_t<decltype(x)>::Scalar{0}).log(); }
};
struct Log1p {
  static auto of(const auto& x) { return x.log1p(); }
};
// Eigen's own functions for vectors of floats are wrong for the smallest normal numbers, whose half is flushed to zero,
// and for infinity.
struct Sqrt {
  static auto each(const auto& x) { return square_root(x); }
};
struct Rsqrt {
  static auto each(const auto& x) { return 1 / square_root(x); }
};
struct Reciprocal {
  static auto of(const auto& x) { return x.inverse(); }
};
struct Floor {
  static auto of(const auto& x) { return x.floor(); }
};
struct Sin {
  static auto of(const auto& x) { return x.sin(); }
};
struct Cos {
  static auto of(const auto& x) { return x.cos(); }
};
struct Erf {
  static auto of(const auto& x) { return x.erf(); }
};
struct IsFinite {
  static auto of(const auto& x) { return x.isFinite(); }
};
struct IsNan {
  static auto of(const auto& x) { return x.isNaN(); }
};
struct IsInf {
  static auto of(const auto& x) { return x.isInf(); }
};

// Gradients of roots, from the result and its gradient. They are zero if the latter is, even if the slope is infinite.
struct SqrtGrad {
  template <class V>
  static V each(const V& root, const V& gradient) {
    return gradient == 0 ? V{} : gradient / root / 2;
  }
};
struct RsqrtGrad {
  template <class V>
  static V each(const V& root, const V& gradient) {
    return gradient == 0 ? V{} : gradient * root * (root * root) / -2;
  }
};
struct ReciprocalGrad {
  template <class V>
  static V each(const V& root, const V& gradient) {
    return gradient == 0 ? V{} : -gradient * (root * root);
  }
};

template <class Op, class Types>
Kernel make_binary(const Node& node) {
  return kernel_for(Types{}, node, "T", []<class T>() { return binary_kernel<Op, T>(); });
}
template <class Op, class Types>
Kernel make_comparison(const Node& node) {
  return kernel_for(Types{}, node, "T", []<class T>() { return binary_kernel<Op, T, bool>(); });
}
template <class Op>
Kernel make_logic(const Node&) {
  return binary_kernel<Op, bool>();
}
template <class Op, class Types>
Kernel make_unary(const Node& node) {
  return kernel_for(Types{}, node, "T", []<class T>() { return unary_kernel<Op, T>(); });
}
template <class Op>
Kernel make_root_grad(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return same_shape_kernel<Op, T>(); });
}
template <class Op>
Kernel make_classification(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return unary_kernel<Op, T, bool>(); });
}
inline Kernel make_logical_not(const Node&) {
  return +[](KernelContext& context) {  // as bytes, of which there are vectors
    const auto* const from = reinterpret_cast<const std::uint8_t*>(context.data<bool>(0).data());
    auto* const to = reinterpret_cast<std::uint8_t*>(context.output<bool>(0, context.shape(0)).data());
    for_each_block(context, {context.shape(0).num_elements(), 1}, [&](const Block& block) {
      compute(
          to + block.begin, block.size(), [](const auto& x) { return x ^ 1; }, from + block.begin);
    });
  };
}

template <class T>
void add_n(KernelContext& context) {
  for (std::size_t i = 1; i < context.num_inputs(); ++i) {
    if (context.shape(i) != context.shape(0)) throw InvalidArgumentError("all inputs must have one shape");
  }
  ArrayMap<T> all = output_array<T>(context, 0, context.shape(0));
  in_pieces(context, static_cast<std::size_t>(all.size()), [&](Eigen::Index at, Eigen::Index n) {
    ArrayMap<T> sum(all.data() + at, n);
    sum = ConstArrayMap<T>(context.data<T>(0).data() + at, n);
    for (std::size_t i = 1; i < context.num_inputs(); ++i) sum += ConstArrayMap<T>(context.data<T>(i).data() + at, n);
  });
}

inline Kernel make_add_n(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", []<class T>() { return Kernel(add_n<T>); });
}

inline Kernel make_check_numerics(const Node& node) {
  const std::string& message = node.attr<std::string>("message");
  return kernel_for(FloatingTypes{}, node, "T", [&]<class T>() {
    return Kernel([message](KernelContext& context) {
      const ConstArrayMap<T> values = input_array<T>(context, 0);
      if (!values.isFinite().all()) {
        throw InvalidArgumentError("{} : Tensor had {} values", message, values.isNaN().any() ? "NaN" : "Inf");
      }
      context.set_output(0, context.input(0));
    });
  });
}

using EqualTypes = DTypes<float, double, std::int32_t, std::int64_t, std::uint8_t, bool, std::string>;
using OrderedTypes = DTypes<float, double, std::int32_t, std::int64_t, std::uint8_t>;

inline constexpr std::array kMath{
    KernelDef{.type = "Add", .make = make_binary<Add, NumberTypes>},
    KernelDef{.type = "AddV2", .make = make_binary<Add, NumberTypes>},
    KernelDef{.type = "AddN", .make = make_add_n},
    KernelDef{.type = "Sub", .make = make_binary<Sub, NumberTypes>},
    KernelDef{.type = "Mul", .make = make_binary<Mul, NumberTypes>},
    KernelDef{.type = "RealDiv", .make = make_binary<RealDiv, FloatingTypes>},
    KernelDef{.type = "DivNoNan", .make = make_binary<DivNoNan, FloatingTypes>},
    KernelDef{.type = "FloorDiv", .make = make_binary<FloorDiv, NumberTypes>},
    KernelDef{.type = "FloorMod", .make = make_binary<ElementByElement<FloorModOfTwo>, NumberTypes>},
    KernelDef{.type = "Pow", .make = make_binary<ElementByElement<PowOfTwo>, NumberTypes>},
    KernelDef{.type = "SquaredDifference", .make = make_binary<SquaredDifference, NumberTypes>},
    KernelDef{.type = "Maximum", .make = make_binary<ElementByElement<LargerOfTwo>, NumberTypes>},
    KernelDef{.type = "Minimum", .make = make_binary<ElementByElement<SmallerOfTwo>, NumberTypes>},
    KernelDef{.type = "Equal", .make = make_comparison<Equal, EqualTypes>},
    KernelDef{.type = "NotEqual", .make = make_comparison<NotEqual, EqualTypes>},
    KernelDef{.type = "Less", .make = make_comparison<Less, OrderedTypes>},
    KernelDef{.type = "LessEqual", .make = make_comparison<LessEqual, OrderedTypes>},
    KernelDef{.type = "Greater", .make = make_comparison<Greater, OrderedTypes>},
    KernelDef{.type = "GreaterEqual", .make = make_comparison<GreaterEqual, OrderedTypes>},
    KernelDef{.type = "LogicalAnd", .make = make_logic<LogicalAnd>},
    KernelDef{.type = "LogicalOr", .make = make_logic<LogicalOr>},
    KernelDef{.type = "LogicalNot", .make = make_logical_not},
    KernelDef{.type = "Abs", .make = make_unary<Abs, NumberTypes>},
    KernelDef{.type = "Neg", .make = make_unary<Neg, NumberTypes>},
    KernelDef{.type = "Sign", .make = make_unary<Sign, NumberTypes>},
    KernelDef{.type = "Square", .make = make_unary<Square, NumberTypes>},
    KernelDef{.type = "Exp", .make = make_unary<Exp, FloatingTypes>},
    KernelDef{.type = "Log", .make = make_unary<Log, FloatingTypes>},
    KernelDef{.type = "Log1p", .make = make_unary<Log1p, FloatingTypes>},
    KernelDef{.type = "Sqrt", .make = make_unary<Sqrt, FloatingTypes>},
    KernelDef{.type = "SqrtGrad", .make = make_root_grad<SqrtGrad>},
    KernelDef{.type = "Rsqrt", .make = make_unary<Rsqrt, FloatingTypes>},
    KernelDef{.type = "RsqrtGrad", .make = make_root_grad<RsqrtGrad>},
    KernelDef{.type = "Reciprocal", .make = make_unary<Reciprocal, FloatingTypes>},
    KernelDef{.type = "ReciprocalGrad", .make = make_root_grad<ReciprocalGrad>},
    KernelDef{.type = "Floor", .make = make_unary<Floor, FloatingTypes>},
    KernelDef{.type = "Sin", .make = make_unary<Sin, FloatingTypes>},
    KernelDef{.type = "Cos", .make = make_unary<Cos, FloatingTypes>},
    KernelDef{.type = "Erf", .make = make_unary<Erf, FloatingTypes>},
    KernelDef{.type = "IsFinite", .make = make_classification<IsFinite>},
    KernelDef{.type = "IsNan", .make = make_classification<IsNan>},
    KernelDef{.type = "IsInf", .make = make_classification<IsInf>},
    KernelDef{.type = "CheckNumerics", .make = make_check_numerics, .alias = true},
};

}  // namespace detail

KernelGroup math() noexcept { return detail::kMath; }

}  // namespace trainhook::kernels
