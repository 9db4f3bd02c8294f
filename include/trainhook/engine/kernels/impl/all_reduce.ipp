// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of all_reduce.hpp.
#pragma once

#include <trainhook/engine/kernels/all_reduce.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/graph/ops/all_reduce.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// All inputs one after the other, so that many small ones cost one message; a single one is reduced where it goes.
template <class T>
void all_reduce(KernelContext& context, AllReducer& reducer, bool is_mean) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) count += context.data<T>(i).size();
  const bool is_single = context.num_inputs() == 1;
  const std::span<T> all =
      is_single ? context.output<T>(0, context.shape(0)) : std::span<T>(context.scratch<T>(count), count);
  auto end = all.begin();
  for (std::size_t i = 0; i < context.num_inputs(); ++i) end = std::ranges::copy(context.data<T>(i), end).out;

  reducer.add_up(std::as_writable_bytes(all), dtype_of<T>);
  if (is_mean) {
    const T size = static_cast<T>(reducer.size());
    for (T& value : all) value /= size;
  }
  if (is_single) return;
  const T* from = all.data();
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    const std::span<T> part = context.output<T>(i, context.shape(i));
    std::copy_n(from, part.size(), part.begin());
    from += part.size();
  }
}

inline Kernel make_all_reduce(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", [&]<class T>() {
    const auto reduction = node.attr<std::string>("reduction");
    const bool is_mean = reduction == "mean";
    if ((!is_mean && reduction != "sum") || (is_mean && !std::is_floating_point_v<T>))
      throw InvalidArgumentError("node '{}' (TrainhookAllReduce): {} has no reduction '{}'", node.name(), dtype_of<T>,
                                 reduction);
    return Kernel([reducer = all_reducer_of(node), is_mean](KernelContext& context) {
      all_reduce<T>(context, *reducer, is_mean);
    });
  });
}

inline constexpr std::array kAllReduce{
    KernelDef{.type = "TrainhookAllReduce", .make = make_all_reduce, .stateful = true},
};

}  // namespace detail

TRAINHOOK_DECL KernelGroup all_reduce() noexcept { return detail::kAllReduce; }

}  // namespace trainhook::kernels
