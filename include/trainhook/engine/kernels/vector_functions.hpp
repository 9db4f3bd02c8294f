// SPDX-License-Identifier: Apache-2.0
/// @file
/// Functions over arrays that compilers do not turn into vector code by themselves; Eigen does so for floats.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include <Eigen/Core>

namespace trainhook::detail {

using FloatArray = Eigen::Map<Eigen::Array<float, Eigen::Dynamic, 1>>;
using ConstFloatArray = Eigen::Map<const Eigen::Array<float, Eigen::Dynamic, 1>>;

// Each is a function of one number, and the same for a whole array of floats. Doubles are rare enough to go one by one,
// which saves every user a good part of the compile time.
struct Exp {
  static double of(double x) { return std::exp(x); }
  static void of(ConstFloatArray x, FloatArray y) { y = x.exp(); }
};
struct Log {
  static double of(double x) { return std::log(x); }
  static void of(ConstFloatArray x, FloatArray y) { y = x.log(); }
};
struct Sqrt {
  static double of(double x) { return std::sqrt(x); }
  static void of(ConstFloatArray x, FloatArray y) { y = x.sqrt(); }
};
struct Rsqrt {
  static double of(double x) { return 1 / std::sqrt(x); }
  static void of(ConstFloatArray x, FloatArray y) { y = x.rsqrt(); }
};
struct Tanh {
  static double of(double x) { return std::tanh(x); }
  static void of(ConstFloatArray x, FloatArray y) { y = x.tanh(); }
};
struct Sigmoid {
  static double of(double x) { return 1 / (1 + std::exp(-x)); }
  static void of(ConstFloatArray x, FloatArray y) { y = x.logistic(); }
};

/// y = Function(x) for `n` elements; x and y may be the same.
template <class Function, class T>
void apply_to_array(const T* x, T* y, std::int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    Function::of(ConstFloatArray(x, n), FloatArray(y, n));
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = Function::of(x[i]);
  }
}

/// The sum of `n` elements.
template <class T>
[[nodiscard]] T sum_of_array(const T* x, std::int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    return n == 0 ? 0.0F : ConstFloatArray(x, n).sum();
  } else {
    return std::accumulate(x, x + n, T{0});
  }
}

}  // namespace trainhook::detail
