// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of further elementwise functions, such as erf and tan.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <type_traits>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/elementwise.hpp>
#include <trainhook/engine/kernels/pieces.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// A float, or a vector of floats.
template <class V>
concept Floats = std::is_same_v<ElementOf<V>, float>;

/// x + x z (c[0] + c[1] z + ...), where z is the square of x.
template <class V, std::size_t N>
V odd_polynomial(const V& x, const V& z, const std::array<float, N>& c) {
  V sum = V{} + c[N - 1];
  unrolled<N - 1>([&](auto i) { sum = sum * z + c[N - 2 - i]; });
  return x + x * z * sum;
}

template <class V>
V size_of(const V& x) {
  return x < 0 ? -x : x;
}

inline constexpr auto kHalfPi = std::numbers::pi_v<float> / 2;

// Inverse functions of floats: polynomials that differ by less than 3e-9 and 2e-8 of the result up to tan(pi/8) and
// 1/2, and identities for what is larger. Eigen 3.4 computes them one by one.
template <Floats V>
V arcsine_up_to_half(const V& x, const V& square) {
  constexpr std::array kArcsine{0.166666731F, 0.0749876127F, 0.0450202264F, 0.0264333114F, 0.038328398F};
  return odd_polynomial(x, square, kArcsine);
}
struct Acos {
  template <Floats V>
  static V each(const V& x) {
    const V size = size_of(x);
    const V square = size > 0.5F ? (1 - size) / 2 : size * size;
    const V part = arcsine_up_to_half<V>(size > 0.5F ? square_root(square) : x, square);
    const V twice = part + part;
    return size > 0.5F ? (x < 0 ? std::numbers::pi_v<float> - twice : twice) : kHalfPi - part;
  }
  static auto of(const auto& x) { return x.acos(); }
};
struct Asin {
  template <Floats V>
  static V each(const V& x) {
    const V size = size_of(x);
    const V square = size > 0.5F ? (1 - size) / 2 : size * size;
    const V part = arcsine_up_to_half<V>(size > 0.5F ? square_root(square) : x, square);
    const V large = kHalfPi - (part + part);
    return size > 0.5F ? (x < 0 ? -large : large) : part;
  }
  static auto of(const auto& x) { return x.asin(); }
};
struct Atan {
  template <Floats V>
  static V each(const V& x) {
    constexpr std::array kArctangent{-0.333333313F, 0.199995592F, -0.142645076F, 0.107488573F, -0.064668335F};
    constexpr float kLow = 0.414213562F;  // tan(pi/8)
    constexpr float kHigh = 2.41421356F;  // tan(3 pi/8)
    const V size = size_of(x);
    const V above = size > kHigh ? V{} - 1 : size > kLow ? size - 1 : x;
    const V below = size > kHigh ? size : size > kLow ? size + 1 : V{} + 1;
    const V rest = above / below;
    const V part = odd_polynomial<V>(rest, rest * rest, kArctangent);
    const V large = part + (size > kHigh ? V{} + kHalfPi : V{} + kHalfPi / 2);
    return size > kLow ? (x < 0 ? -large : large) : x == 0 ? x : part;  // a zero keeps its sign
  }
  static auto of(const auto& x) { return x.atan(); }
};
struct Ceil {
  static auto of(const auto& x) { return x.ceil(); }
};
struct Cosh {
  static auto of(const auto& x) { return x.cosh(); }
};
struct Expm1 {
  static auto of(const auto& x) { return x.expm1(); }
};
struct Sinh {
  static auto of(const auto& x) { return x.sinh(); }
};
struct Tan {
  static auto of(const auto& x) { return x.tan(); }
};

/// Rounds to the nearest whole number, and halves to the even one: there are no fractions next to numbers as large as
/// `kWhole`.
struct Rint {
  template <class V>
  static V each(const V& x) {
    if constexpr (std::is_arithmetic_v<V>) {
      return std::nearbyint(x);
    } else {
      constexpr auto kWhole = 1 / std::numeric_limits<ElementOf<V>>::epsilon();
      const V size = size_of(x);
      const V rounded = (size + kWhole) - kWhole;
      const V with_sign = x < 0 ? -rounded : rounded;
      return size < kWhole ? (rounded == 0 ? x * 0 : with_sign) : x;
    }
  }
};

// The constants with which mean 0 and variance 1 are a fixed point, from the paper.
struct Selu {
  static constexpr double kScale = 1.0507009873554804934193349852946;
  static constexpr double kScaleAlpha = 1.7580993408473768599402175208123;
  template <class T>
  static auto of_piece(const ConstArrayMap<T>& x, PieceRoom<T>& room) {
    return (x.max)(T{0}) * static_cast<T>(kScale) + expm1_below_zero(x, room) * static_cast<T>(kScaleAlpha);
  }
};
struct SeluGrad {
  template <class V>
  static V each(const V& gradient, const V& result) {
    using T = ElementOf<V>;
    return gradient * (result < 0 ? result + static_cast<T>(Selu::kScaleAlpha) : V{} + static_cast<T>(Selu::kScale));
  }
};

struct Softsign {
  static auto of(const auto& x) { return x / ((x.abs)() + 1); }
};
struct SoftsignGrad {
  static auto of(const auto& gradient, const auto& features) { return gradient / ((features.abs)() + 1).square(); }
};

template <class Op>
Kernel make_function(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return unary_kernel<Op, T>(); });
}
template <class Op>
Kernel make_function_grad(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return same_shape_kernel<Op, T>(); });
}

inline Kernel make_round(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", []<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      return unary_kernel<Rint, T>();
    } else {  // whole already
      return Kernel([](KernelContext& context) { context.set_output(0, context.input(0)); });
    }
  });
}

inline constexpr std::array kSpecial{
    KernelDef{.type = "Acos", .make = make_function<Acos>},
    KernelDef{.type = "Asin", .make = make_function<Asin>},
    KernelDef{.type = "Atan", .make = make_function<Atan>},
    KernelDef{.type = "Ceil", .make = make_function<Ceil>},
    KernelDef{.type = "Cosh", .make = make_function<Cosh>},
    KernelDef{.type = "Expm1", .make = make_function<Expm1>},
    KernelDef{.type = "Rint", .make = make_function<Rint>},
    KernelDef{.type = "Round", .make = make_round, .alias = true},
    KernelDef{.type = "Selu", .make = make_function<Selu>},
    KernelDef{.type = "SeluGrad", .make = make_function_grad<SeluGrad>},
    KernelDef{.type = "Sinh", .make = make_function<Sinh>},
    KernelDef{.type = "Softsign", .make = make_function<Softsign>},
    KernelDef{.type = "SoftsignGrad", .make = make_function_grad<SoftsignGrad>},
    KernelDef{.type = "Tan", .make = make_function<Tan>},
};

}  // namespace detail

KernelGroup special() noexcept { return detail::kSpecial; }

}  // namespace trainhook::kernels
