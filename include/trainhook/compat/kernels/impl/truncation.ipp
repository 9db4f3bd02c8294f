// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of division that rounds towards zero, and of its remainder.
#pragma once

#include <trainhook/compat/kernels.hpp>

#include <array>
#include <cmath>
#include <type_traits>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/elementwise.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

struct TruncateDiv {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::trunc(x / y);
    } else {
      if (y == 0) throw InvalidArgumentError("Integer division by zero");
      return y == -1 ? static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(x))
                     : static_cast<T>(x / y);
    }
  }
};

struct TruncateMod {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(x, y);
    } else {
      if (y == 0) throw InvalidArgumentError("Integer division by zero");
      return y == -1 ? T{0} : static_cast<T>(x % y);
    }
  }
};

template <class Code>
struct Elementwise {
  static auto of(const auto& x, const auto& y) { return x.binaryExpr(y, Code{}); }
};

template <class Code>
Kernel make_truncation(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", []<class T>() { return binary_kernel<Elementwise<Code>, T>(); });
}

inline constexpr std::array kTruncation{
    KernelDef{.type = "TruncateDiv", .make = make_truncation<TruncateDiv>},
    KernelDef{.type = "TruncateMod", .make = make_truncation<TruncateMod>},
};

}  // namespace detail

KernelGroup truncation() noexcept { return detail::kTruncation; }

}  // namespace trainhook::kernels
