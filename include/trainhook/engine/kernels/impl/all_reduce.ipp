// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of TrainhookAllReduce and its two halves, TrainhookAllReduceStart and TrainhookAllReduceFinish.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/model/ops/all_reduce.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// @throws InvalidArgumentError on a rank whose value has another number of elements than on the others.
inline void expect_same_counts(const KernelContext& context, AllReducer& reducer) {
  std::vector<std::int64_t> counts(context.num_inputs());
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = context.shape(i).num_elements();
  reducer.add_up(std::as_writable_bytes(std::span(counts)), DType::Int64);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t mine = context.shape(i).num_elements();
    if (counts[i] == mine * reducer.size()) continue;
    throw InvalidArgumentError(
        "value {} has {} elements on this rank, and {} on all {} ranks together: it must have as many on each", i, mine,
        counts[i], reducer.size());
  }
}

/// Reduces all inputs joined together, so that many small ones cost one message; reduces a single one in place.
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

/// Whether the node wants a mean. @throws InvalidArgumentError if elements of T have no such reduction.
template <class T>
bool wants_mean(const Node& node) {
  const auto& reduction = node.attr<std::string>("reduction");
  const bool is_mean = reduction == "mean";
  if ((is_mean || reduction == "sum") && (!is_mean || std::is_floating_point_v<T>)) return is_mean;
  throw InvalidArgumentError("node '{}' ({}): {} has no reduction '{}'", node.name(), node.type(), dtype_of<T>,
                             reduction);
}

/// Whether ranks cannot differ in how many elements the inputs have.
inline bool has_known_shapes(const Node& node) {
  return std::ranges::all_of(node.inputs(), [](Output x) { return x.shape().is_fully_known(); });
}

inline Kernel make_all_reduce(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", [&]<class T>() {
    const bool is_mean = wants_mean<T>(node);
    return Kernel([reducer = all_reducer_of(node), is_mean, is_known = has_known_shapes(node)](KernelContext& context) {
      if (!is_known) expect_same_counts(context, *reducer);
      all_reduce<T>(context, *reducer, is_mean);
    });
  });
}

/// The state that a TrainhookAllReduceStart passes to its TrainhookAllReduceFinish.
struct StartedReduction final : NodeState {
  std::unique_ptr<BackgroundSum> sum{};  // made by the first start
  std::vector<Shape> shapes{};
  int ranks = 1;
};

inline std::unique_ptr<NodeState> make_started_reduction(const Node&, std::uint64_t) {
  return std::make_unique<StartedReduction>();
}

inline void start_reduction(KernelContext& context, AllReducer& reducer) {
  auto& started = context.state<StartedReduction>();
  std::vector<std::span<const std::byte>> parts;
  started.shapes.clear();
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    parts.push_back(context.input(i).bytes());
    started.shapes.push_back(context.shape(i));
  }
  started.ranks = reducer.size();
  if (started.sum == nullptr) started.sum = reducer.make_background_sum();
  started.sum->start(parts, context.input(0).dtype());
}

inline Kernel make_start(const Node& node) {
  return [reducer = all_reducer_of(node), is_known = has_known_shapes(node)](KernelContext& context) {
    if (!is_known) expect_same_counts(context, *reducer);
    start_reduction(context, *reducer);
  };
}

template <class T>
void finish_reduction(KernelContext& context, bool is_mean) {
  auto& started = context.input_state<StartedReduction>(0);
  const T* from = reinterpret_cast<const T*>(started.sum->finish().data());
  const T ranks = static_cast<T>(started.ranks);
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    const std::span<T> part = context.output<T>(i, started.shapes[i]);
    if (is_mean) {
      std::transform(from, from + part.size(), part.begin(), [ranks](T value) { return value / ranks; });
    } else {
      std::copy_n(from, part.size(), part.begin());
    }
    from += part.size();
  }
}

inline Kernel make_finish(const Node& node) {
  expect_resource(node, "TrainhookAllReduceStart");
  const std::span<const Output> started = node.inputs()[0].node().inputs();
  const auto is_ours = [dtype = node.attr<DType>("T")](Output value) { return value.dtype() == dtype; };
  if (started.size() != node.outputs().size() || !std::ranges::all_of(started, is_ours)) {
    throw InvalidArgumentError("node '{}' ({}) must give as many values as '{}' takes, of the same dtype", node.name(),
                               node.type(), node.inputs()[0].node().name());
  }
  return kernel_for(NumberTypes{}, node, "T", [&]<class T>() {
    return Kernel([is_mean = wants_mean<T>(node)](KernelContext& context) { finish_reduction<T>(context, is_mean); });
  });
}

inline constexpr std::array kAllReduce{
    KernelDef{.type = "TrainhookAllReduce", .make = make_all_reduce, .stateful = true},
    KernelDef{.type = "TrainhookAllReduceStart",
              .make = make_start,
              .stateful = true,
              .starts = true,
              .make_state = make_started_reduction},
    KernelDef{.type = "TrainhookAllReduceFinish", .make = make_finish, .stateful = true},
};

}  // namespace detail

KernelGroup all_reduce() noexcept { return detail::kAllReduce; }

}  // namespace trainhook::kernels
