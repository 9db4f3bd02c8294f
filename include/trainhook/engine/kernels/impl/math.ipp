// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of math.hpp.
#pragma once

#include <trainhook/engine/kernels/math.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/vector_functions.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

// What two elements give. `static_cast` because small integers would be promoted.
struct Add {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>(x + y);
  }
};
struct Sub {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>(x - y);
  }
};
struct Mul {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>(x * y);
  }
};
struct SquaredDifference {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>((x - y) * (x - y));
  }
};
struct Maximum {
  template <class T>
  static T of(T x, T y) {
    return x < y || y != y ? y : x;
  }
};  // NaN wins
struct Minimum {
  template <class T>
  static T of(T x, T y) {
    return y < x || y != y ? y : x;
  }
};
struct RealDiv {
  template <class T>
  static T of(T x, T y) {
    return x / y;
  }
};
struct FloorDiv {
  template <class T>
  static T of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(x / y);
    } else {
      if (y == 0) throw InvalidArgumentError("Integer division by zero");
      if (y == -1) return static_cast<T>(T{0} - x);
      const T quotient = static_cast<T>(x / y);
      return static_cast<T>(x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient);
    }
  }
};
struct FloorMod {
  template <class T>
  static T of(T x, T y) {
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
struct Pow {
  template <class T>
  static T of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(x, y);
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
struct Equal {
  template <class T>
  static bool of(const T& x, const T& y) {
    return x == y;
  }
};
struct NotEqual {
  template <class T>
  static bool of(const T& x, const T& y) {
    return x != y;
  }
};
struct Less {
  template <class T>
  static bool of(T x, T y) {
    return x < y;
  }
};
struct LessEqual {
  template <class T>
  static bool of(T x, T y) {
    return x <= y;
  }
};
struct Greater {
  template <class T>
  static bool of(T x, T y) {
    return x > y;
  }
};
struct GreaterEqual {
  template <class T>
  static bool of(T x, T y) {
    return x >= y;
  }
};
struct LogicalAnd {
  static bool of(bool x, bool y) { return x && y; }
};
struct LogicalOr {
  static bool of(bool x, bool y) { return x || y; }
};

template <class Op, class Types>
Kernel make_binary(const Node& node) {
  return kernel_for(Types{}, node, "T", []<class T>() { return binary_kernel<Op, T, T>(); });
}
template <class Op, class Types>
Kernel make_comparison(const Node& node) {
  return kernel_for(Types{}, node, "T", []<class T>() { return binary_kernel<Op, T, bool>(); });
}
template <class Op>
Kernel make_logic(const Node&) {
  return binary_kernel<Op, bool, bool>();
}

// What one element gives.
struct Abs {
  template <class T>
  static T of(T x) {
    return x < 0 ? static_cast<T>(T{0} - x) : x;
  }
};
struct Neg {
  template <class T>
  static T of(T x) {
    return static_cast<T>(-x);
  }
};
struct Sign {
  template <class T>
  static T of(T x) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : x;
  }
};  // NaN stays NaN
struct Square {
  template <class T>
  static T of(T x) {
    return static_cast<T>(x * x);
  }
};
struct Reciprocal {
  template <class T>
  static T of(T x) {
    return T{1} / x;
  }
};
struct Log1p {
  template <class T>
  static T of(T x) {
    return std::log1p(x);
  }
};
struct Floor {
  template <class T>
  static T of(T x) {
    return std::floor(x);
  }
};
struct Sin {
  template <class T>
  static T of(T x) {
    return std::sin(x);
  }
};
struct Cos {
  template <class T>
  static T of(T x) {
    return std::cos(x);
  }
};

template <class Op, class T>
void unary(KernelContext& context) {
  const std::span<const T> x = context.data<T>(0);
  T* const __restrict y = context.output<T>(0, context.shape(0)).data();
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = Op::of(x[i]);
}

template <class Op, class Types>
Kernel make_unary(const Node& node) {
  return kernel_for(Types{}, node, "T", []<class T>() { return Kernel(unary<Op, T>); });
}

template <class Function, class T>
void array_function(KernelContext& context) {
  const std::span<const T> x = context.data<T>(0);
  apply_to_array<Function>(x.data(), context.output<T>(0, context.shape(0)).data(),
                           static_cast<std::int64_t>(x.size()));
}

template <class Function>
Kernel make_function(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(array_function<Function, T>); });
}

template <class T>
bool is_finite(T value) {
  return std::isfinite(value);
}
template <class T>
bool is_nan(T value) {
  return std::isnan(value);
}
template <class T>
bool is_inf(T value) {
  return std::isinf(value);
}

template <class T, bool (*Predicate)(T)>
void classify(KernelContext& context) {
  std::ranges::transform(context.data<T>(0), context.output<bool>(0, context.shape(0)).begin(), Predicate);
}
TRAINHOOK_DECL Kernel make_is_finite(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(classify<T, is_finite<T>>); });
}
TRAINHOOK_DECL Kernel make_is_nan(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(classify<T, is_nan<T>>); });
}
TRAINHOOK_DECL Kernel make_is_inf(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(classify<T, is_inf<T>>); });
}

TRAINHOOK_DECL Kernel make_logical_not(const Node&) {
  return +[](KernelContext& context) {
    const std::span<const bool> x = context.data<bool>(0);
    std::ranges::transform(x, context.output<bool>(0, context.shape(0)).begin(), [](bool value) { return !value; });
  };
}

TRAINHOOK_DECL Kernel make_add_n(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      const std::span<T> sum = context.output<T>(0, context.shape(0));
      std::ranges::copy(context.data<T>(0), sum.begin());
      for (std::size_t i = 1; i < context.num_inputs(); ++i) {
        if (context.shape(i) != context.shape(0)) throw InvalidArgumentError("all inputs must have one shape");
        const std::span<const T> x = context.data<T>(i);
        for (std::size_t at = 0; at < sum.size(); ++at) sum[at] = static_cast<T>(sum[at] + x[at]);
      }
    });
  });
}

TRAINHOOK_DECL Kernel make_check_numerics(const Node& node) {
  const std::string& message = node.attr<std::string>("message");
  return kernel_for(FloatingTypes{}, node, "T", [&]<class T>() {
    return Kernel([message](KernelContext& context) {
      for (const T value : context.data<T>(0)) {
        if (std::isfinite(value)) continue;
        throw InvalidArgumentError("{} : Tensor had {} values", message, std::isnan(value) ? "NaN" : "Inf");
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
    KernelDef{.type = "FloorDiv", .make = make_binary<FloorDiv, NumberTypes>},
    KernelDef{.type = "FloorMod", .make = make_binary<FloorMod, NumberTypes>},
    KernelDef{.type = "Pow", .make = make_binary<Pow, NumberTypes>},
    KernelDef{.type = "SquaredDifference", .make = make_binary<SquaredDifference, NumberTypes>},
    KernelDef{.type = "Maximum", .make = make_binary<Maximum, NumberTypes>},
    KernelDef{.type = "Minimum", .make = make_binary<Minimum, NumberTypes>},
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
    KernelDef{.type = "Exp", .make = make_function<Exp>},
    KernelDef{.type = "Log", .make = make_function<Log>},
    KernelDef{.type = "Log1p", .make = make_unary<Log1p, FloatingTypes>},
    KernelDef{.type = "Sqrt", .make = make_function<Sqrt>},
    KernelDef{.type = "Rsqrt", .make = make_function<Rsqrt>},
    KernelDef{.type = "Reciprocal", .make = make_unary<Reciprocal, FloatingTypes>},
    KernelDef{.type = "Floor", .make = make_unary<Floor, FloatingTypes>},
    KernelDef{.type = "Sin", .make = make_unary<Sin, FloatingTypes>},
    KernelDef{.type = "Cos", .make = make_unary<Cos, FloatingTypes>},
    KernelDef{.type = "IsFinite", .make = make_is_finite},
    KernelDef{.type = "IsNan", .make = make_is_nan},
    KernelDef{.type = "IsInf", .make = make_is_inf},
    KernelDef{.type = "CheckNumerics", .make = make_check_numerics, .alias = true},
};

}  // namespace detail

TRAINHOOK_DECL KernelGroup math() noexcept { return detail::kMath; }

}  // namespace trainhook::kernels
