// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of further elementwise functions, such as erf and tan.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/elementwise.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

struct Acos {
  static auto of(const auto& x) { return x.acos(); }
};
struct Asin {
  static auto of(const auto& x) { return x.asin(); }
};
struct Atan {
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
      constexpr auto kWhole = 1 / std::numeric_limits<std::remove_cvref_t<decltype(x[0])>>::epsilon();
      const V size = x < 0 ? -x : x;
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
  struct OfOne {
    T operator()(T x) const { return x < 0 ? static_cast<T>(kScaleAlpha) * std::expm1(x) : static_cast<T>(kScale) * x; }
  };
  static auto of(const auto& x) { return x.unaryExpr(OfOne<typename std::decay_t<decltype(x)>::Scalar>{}); }
};
struct SeluGrad {
  template <class T>
  struct OfTwo {
    T operator()(T gradient, T result) const {
      return gradient * (result < 0 ? result + static_cast<T>(Selu::kScaleAlpha) : static_cast<T>(Selu::kScale));
    }
  };
  static auto of(const auto& gradient, const auto& results) {
    return gradient.binaryExpr(results, OfTwo<typename std::decay_t<decltype(results)>::Scalar>{});
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
