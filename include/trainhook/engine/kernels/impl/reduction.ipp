// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that reduce dimensions: sums and others, and argmax.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/elementwise.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// A reduction as alternating kept and reduced dimensions: neighbours of a kind are merged, extents of 1 dropped.
struct ReductionPlan {
  Ints dims;     // merged dimensions, outermost first; at least one
  Ints strides;  // of the result for each of them; 0 where it is reduced
  Shape result;
  std::int64_t reduced = 1;  // elements that go into each result

  /// Whether all parts of the outermost dimension have the same results.
  [[nodiscard]] bool joins_parts() const { return strides[0] == 0; }
};

inline ReductionPlan plan_reduction(const Shape& shape, const Tensor& axes, bool keep_dims) {
  std::array<bool, kMaxRank> is_reduced{};
  for (const std::int64_t axis : ints_of(axes)) is_reduced[axis_of(axis, shape.rank())] = true;
  ReductionPlan plan;
  Ints result;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (!is_reduced[i]) result.push_back(shape[i]);
    if (is_reduced[i] && keep_dims) result.push_back(1);
    if (is_reduced[i]) plan.reduced *= shape[i];
  }
  plan.result = shape_of_ints(result);
  Ints kinds;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    const std::int64_t kind = is_reduced[i] ? 1 : 0;
    if (!kinds.empty() && kinds[kinds.size() - 1] == kind) {
      plan.dims[plan.dims.size() - 1] *= shape[i];
    } else {
      plan.dims.push_back(shape[i]);
      kinds.push_back(kind);
    }
  }
  if (kinds.empty()) {
    plan.dims.push_back(1);
    kinds.push_back(1);
  }
  plan.strides = plan.dims;
  std::int64_t stride = 1;
  for (std::size_t i = plan.dims.size(); i-- > 0;) {
    plan.strides[i] = kinds[i] == 1 ? 0 : stride;
    if (kinds[i] == 0) stride *= plan.dims[i];
  }
  return plan;
}

// How elements are joined: the neutral element, one array with another, and all elements of an array.
struct SumOf {
  template <class T>
  static constexpr T kStart{0};
  static auto join(const auto& x, const auto& y) { return x + y; }
  static auto all(const auto& x) { return x.sum(); }
};
struct ProdOf {
  template <class T>
  static constexpr T kStart{1};
  static auto join(const auto& x, const auto& y) { return x * y; }
  static auto all(const auto& x) { return x.prod(); }
};
struct MaxOf {  // NaN wins
  template <class T>
  static constexpr T kStart =
      std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  static auto join(const auto& x, const auto& y) { return x.binaryExpr(y, LargerOfTwo{}); }
  static auto all(const auto& x) { return x.template maxCoeff<Eigen::PropagateNaN>(); }
};
struct MinOf {
  template <class T>
  static constexpr T kStart =
      std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : (std::numeric_limits<T>::max)();
  static auto join(const auto& x, const auto& y) { return x.binaryExpr(y, SmallerOfTwo{}); }
  static auto all(const auto& x) { return x.template minCoeff<Eigen::PropagateNaN>(); }
};
struct AllOf {
  template <class T>
  static constexpr T kStart = true;
  static auto join(const auto& x, const auto& y) { return x && y; }
  static bool all(const ConstArrayMap<bool>& x) {
    return std::memchr(x.data(), 0, static_cast<std::size_t>(x.size())) == nullptr;
  }
};
struct AnyOf {
  template <class T>
  static constexpr T kStart = false;
  static auto join(const auto& x, const auto& y) { return x || y; }
  static bool all(const ConstArrayMap<bool>& x) {
    return std::memchr(x.data(), 1, static_cast<std::size_t>(x.size())) != nullptr;
  }
};

/// Joins `n` contiguous elements of type T to the result of type R: all to one element, or each to its own.
using ReduceRun = void (*)(void* result, const void* x, std::int64_t n);

template <class Op, class T, class R>
void reduce_to_one(void* result, const void* x, std::int64_t n) {
  using One = Eigen::Array<R, 1, 1>;
  Eigen::Map<One> value(static_cast<R*>(result));
  value = Op::join(One(value), One(Op::all(ConstArrayMap<T>(static_cast<const T*>(x), n).template cast<R>()))).eval();
}
template <class Op, class T, class R>
void reduce_to_each(void* results, const void* x, std::int64_t n) {
  ArrayMap<R> values(static_cast<R*>(results), n);
  values = Op::join(values, ConstArrayMap<T>(static_cast<const T*>(x), n).template cast<R>());
}

/// Walks over the dimensions. Only the two functions depend on the op, so this is compiled once.
struct ReductionWalk {
  const ReductionPlan& plan;
  ReduceRun to_one;
  ReduceRun to_each;
  std::size_t size;         // of an element of x
  std::size_t result_size;  // of an element of the result
  const std::byte* x;

  /// Joins the next `count` parts of dimension `axis`.
  void walk(std::size_t axis, std::int64_t count, std::byte* result) {
    if (axis + 2 == plan.dims.size() && plan.strides[axis] == 0) {
      join_rows(count, plan.dims[axis + 1], result);
    } else if (axis + 1 < plan.dims.size()) {
      for (std::int64_t i = 0; i < count; ++i)
        walk(axis + 1, plan.dims[axis + 1], result + static_cast<std::size_t>(i * plan.strides[axis]) * result_size);
    } else {
      take(plan.strides[axis] == 0 ? to_one : to_each, result, count);
    }
  }

  /// Joins the next `count` elements.
  void take(ReduceRun join, std::byte* result, std::int64_t count) {
    join(result, x, count);
    x += static_cast<std::size_t>(count) * size;
  }

  /// Joins the next `count` rows of `width` elements, each with the row before. Short ones are joined several at a
  /// time.
  void join_rows(std::int64_t count, std::int64_t width, std::byte* result) {
    constexpr std::size_t kWide = 1024;  // bytes
    const std::size_t row = static_cast<std::size_t>(width) * size;
    const auto together = static_cast<std::int64_t>(kWide / row);
    const bool has_one_type = size == result_size;  // so that sums of elements can be joined as elements
    if (has_one_type && together > 1 && count >= 4 * together) {
      alignas(64) std::array<std::byte, kWide> wide;
      std::memcpy(wide.data(), x, static_cast<std::size_t>(together) * row);
      x += static_cast<std::size_t>(together) * row;
      for (count -= together; count >= together; count -= together) take(to_each, wide.data(), together * width);
      for (std::int64_t i = 0; i < together; ++i)
        to_each(result, wide.data() + static_cast<std::size_t>(i) * row, width);
    }
    for (; count > 0; --count) take(to_each, result, width);
  }
};

template <class Op, class T, class R = T>
ReductionWalk walk_over(const ReductionPlan& plan, std::span<const T> x) {
  return {.plan = plan,
          .to_one = reduce_to_one<Op, T, R>,
          .to_each = reduce_to_each<Op, T, R>,
          .size = sizeof(T),
          .result_size = sizeof(R),
          .x = reinterpret_cast<const std::byte*>(x.data())};
}

/// Walks over blocks of the outermost dimension on the session's threads. If they have the same results, those of all
/// but the first go to `parts`, until they are joined. `result` and `parts` hold the neutral element.
inline void reduce_blocks(const KernelContext& context, const Blocks& blocks, const ReductionWalk& whole,
                          std::byte* result, std::byte* parts) {
  const ReductionPlan& plan = whole.plan;
  const std::size_t part = static_cast<std::size_t>(plan.result.num_elements()) * whole.result_size;
  for_each_block(context, blocks, [&](const Block& block) {
    const bool has_part = plan.joins_parts() && block.index > 0;
    std::byte* const to = result + static_cast<std::size_t>(block.begin * plan.strides[0]) * whole.result_size;
    ReductionWalk walk = whole;
    walk.x += static_cast<std::size_t>(block.begin * product_behind_first(plan.dims)) * whole.size;
    walk.walk(0, block.size(), has_part ? parts + static_cast<std::size_t>(block.index - 1) * part : to);
  });
  for (std::int64_t i = 0; plan.joins_parts() && i + 1 < blocks.count(); ++i, parts += part)
    whole.to_each(result, parts, plan.result.num_elements());
}

template <class Op, class T>
ArrayMap<T> reduce(KernelContext& context, const ReductionPlan& plan) {
  ArrayMap<T> result = output_array<T>(context, 0, plan.result);
  result.setConstant(Op::template kStart<T>);
  const std::span<const T> x = context.data<T>(0);
  if (x.empty()) return result;
  const Blocks blocks(plan.dims[0], product_behind_first(plan.dims), plan.joins_parts() ? 16 : 1);
  const std::size_t size = plan.joins_parts() ? blocks.parts(static_cast<std::size_t>(result.size())) : 0;
  const std::span<T> parts(context.scratch<T>(size), size);
  std::ranges::fill(parts, Op::template kStart<T>);
  reduce_blocks(context, blocks, walk_over<Op, T>(plan, x), reinterpret_cast<std::byte*>(result.data()),
                reinterpret_cast<std::byte*>(parts.data()));
  return result;
}

template <class Op, class Types>
Kernel make_reduction(const Node& node) {
  const bool keep_dims = node.attr<bool>("keep_dims");
  return kernel_for(Types{}, node, "T", [=]<class T>() {
    return Kernel([=](KernelContext& context) {
      reduce<Op, T>(context, plan_reduction(context.shape(0), context.input(1), keep_dims));
    });
  });
}

using MeanTypes = DTypes<float, double, std::int32_t, std::int64_t, std::uint8_t>;

/// Integers are summed as int64, so that the sum of small ones does not overflow, and rounded towards zero.
template <class T>
void mean(KernelContext& context, const ReductionPlan& plan) {
  if constexpr (std::is_floating_point_v<T>) {
    reduce<SumOf, T>(context, plan) /= static_cast<T>(plan.reduced);
  } else {
    if (plan.reduced == 0) throw InvalidArgumentError("the mean of no integers is not defined");
    ArrayMap<T> result = output_array<T>(context, 0, plan.result);
    ArrayMap<std::int64_t> sums(context.scratch<std::int64_t>(static_cast<std::size_t>(result.size())), result.size());
    sums.setZero();
    if (!context.data<T>(0).empty())
      walk_over<SumOf, T, std::int64_t>(plan, context.data<T>(0))
          .walk(0, plan.dims[0], reinterpret_cast<std::byte*>(sums.data()));
    result = (sums / plan.reduced).template cast<T>();
  }
}

inline Kernel make_mean(const Node& node) {
  const bool keep_dims = node.attr<bool>("keep_dims");
  return kernel_for(MeanTypes{}, node, "T", [=]<class T>() {
    return Kernel([=](KernelContext& context) {
      mean<T>(context, plan_reduction(context.shape(0), context.input(1), keep_dims));
    });
  });
}

template <class Op>
Kernel make_logical_reduction(const Node& node) {
  return [keep_dims = node.attr<bool>("keep_dims")](KernelContext& context) {
    reduce<Op, bool>(context, plan_reduction(context.shape(0), context.input(1), keep_dims));
  };
}

/// Joins each element with those before it along an axis, or behind it in reverse.
template <class Op, class T>
void accumulate(KernelContext& context, bool exclusive, bool reverse) {
  const Shape& shape = context.shape(0);
  const std::size_t axis = axis_of(int_of(context.input(1)), shape.rank());
  const std::int64_t extent = shape[axis];
  const std::int64_t inner = product_of(shape, axis + 1, shape.rank());
  const T* const x = context.data<T>(0).data();
  T* const results = context.output<T>(0, shape).data();
  const std::int64_t way = reverse ? -inner : inner;  // to the next row
  for_each_block(context, {product_of(shape, 0, axis), extent * inner}, [&](const Block& block) {
    for (std::int64_t outer = block.begin; outer < block.end; ++outer) {
      std::int64_t at = (outer * extent + (reverse ? extent - 1 : 0)) * inner;
      for (std::int64_t i = 0; i < extent; ++i, at += way) {
        ArrayMap<T> result(results + at, inner);
        if (i == 0) {
          result.setConstant(Op::template kStart<T>);
        } else {
          result = ConstArrayMap<T>(results + at - way, inner);
        }
        if (!exclusive || i > 0) result = Op::join(result, ConstArrayMap<T>(x + at - (exclusive ? way : 0), inner));
      }
    }
  });
}

template <class Op>
Kernel make_accumulation(const Node& node) {
  const bool exclusive = node.attr<bool>("exclusive");
  const bool reverse = node.attr<bool>("reverse");
  return kernel_for(NumberTypes{}, node, "T", [=]<class T>() {
    return Kernel([=](KernelContext& context) { accumulate<Op, T>(context, exclusive, reverse); });
  });
}

/// The index of the first of the largest (smallest) elements along an axis.
template <class T, class Index, bool Largest>
void arg_extreme(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const std::size_t axis = axis_of(int_of(context.input(1)), shape.rank());
  const std::int64_t extent = shape[axis];
  const std::int64_t inner = product_of(shape, axis + 1, shape.rank());
  Ints dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i != axis) dims.push_back(shape[i]);
  }
  if (extent == 0)
    throw InvalidArgumentError("there is no largest or smallest of no elements: axis {} of {}", axis, shape);
  const T* const x = context.data<T>(0).data();
  ArrayMap<Index> result = output_array<Index>(context, 0, shape_of_ints(dims));
  for_each_block(context, {result.size(), extent}, [&](const Block& block) {
    for (std::int64_t at = block.begin; at < block.end; ++at) {
      const Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>, 0, Eigen::InnerStride<>> along_axis(
          x + at / inner * inner * extent + at % inner, extent, Eigen::InnerStride<>(inner));
      Eigen::Index best = 0;
      if constexpr (Largest) {
        along_axis.maxCoeff(&best);
      } else {
        along_axis.minCoeff(&best);
      }
      result[at] = static_cast<Index>(best);
    }
  });
}

template <bool Largest>
Kernel make_arg_extreme(const Node& node) {
  const bool narrow = node.attr<DType>("output_type") == DType::Int32;
  return kernel_for(NumberTypes{}, node, "T", [=]<class T>() {
    return narrow ? Kernel(arg_extreme<T, std::int32_t, Largest>) : Kernel(arg_extreme<T, std::int64_t, Largest>);
  });
}

inline Kernel make_l2_loss(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      const ConstArrayMap<T> x = input_array<T>(context, 0);
      ArrayMap<T> loss = output_array<T>(context, 0, Shape{});
      loss.setZero();
      const Blocks blocks(x.size(), 1);
      sum_over_blocks(
          context, blocks, loss, context.scratch<T>(blocks.parts(1)),
          [&](const Block& block, ArrayMap<T> sum) { sum[0] = x.segment(block.begin, block.size()).square().sum(); });
      loss /= T{2};
    });
  });
}

inline constexpr std::array kReduction{
    KernelDef{.type = "Sum", .make = make_reduction<SumOf, NumberTypes>},
    KernelDef{.type = "Prod", .make = make_reduction<ProdOf, NumberTypes>},
    KernelDef{.type = "Max", .make = make_reduction<MaxOf, NumberTypes>},
    KernelDef{.type = "Min", .make = make_reduction<MinOf, NumberTypes>},
    KernelDef{.type = "Mean", .make = make_mean},
    KernelDef{.type = "All", .make = make_logical_reduction<AllOf>},
    KernelDef{.type = "Any", .make = make_logical_reduction<AnyOf>},
    KernelDef{.type = "Cumsum", .make = make_accumulation<SumOf>},
    KernelDef{.type = "Cumprod", .make = make_accumulation<ProdOf>},
    KernelDef{.type = "ArgMax", .make = make_arg_extreme<true>},
    KernelDef{.type = "ArgMin", .make = make_arg_extreme<false>},
    KernelDef{.type = "L2Loss", .make = make_l2_loss},
};

}  // namespace detail

KernelGroup reduction() noexcept { return detail::kReduction; }

}  // namespace trainhook::kernels
