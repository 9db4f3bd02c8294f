// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of shapes, reshaping, filling, casting and one-hot vectors.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <trainhook/core/real_numbers.hpp>
#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/elementwise.hpp>
#include <trainhook/engine/kernels/strided_copy.hpp>
#include <trainhook/engine/kernels/vectors.hpp>
#include <trainhook/model/ops/array.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// One output for each input.
inline Kernel make_shape(const Node& node) {
  return kernel_for(IndexTypes{}, node, "out_type", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      for (std::size_t i = 0; i < context.num_outputs(); ++i) {
        const Shape& shape = context.shape(i);
        std::ranges::transform(shape.dims(),
                               context.output<T>(i, Shape{static_cast<std::int64_t>(shape.rank())}).begin(),
                               [](std::int64_t dim) { return static_cast<T>(dim); });
      }
    });
  });
}

inline Kernel make_size(const Node& node) {
  return kernel_for(IndexTypes{}, node, "out_type", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      context.output<T>(0, Shape{})[0] = static_cast<T>(context.input(0).num_elements());
    });
  });
}

inline void rank(KernelContext& context) {
  context.output<std::int32_t>(0, Shape{})[0] = static_cast<std::int32_t>(context.shape(0).rank());
}

inline Kernel make_rank(const Node&) { return rank; }

/// Counts the numbers from `start` to before `limit` in steps of `delta`.
template <class T>
std::int64_t range_size(T start, T limit, T delta) {
  if (!(delta > 0 || delta < 0)) throw InvalidArgumentError("delta is {}; it must not be zero", delta);
  if (delta > 0 ? !(start <= limit) : !(start >= limit)) {
    throw InvalidArgumentError("from {} one does not come to {} in steps of {}", start, limit, delta);
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t count = 0;
  if constexpr (std::is_floating_point_v<T>) {
    const T steps = std::ceil((std::abs)((limit - start) / delta));
    count = steps <= static_cast<T>(kMost) ? static_cast<std::int64_t>(steps) : -1;
  } else {
    count = integers_in_range(start, limit, delta);
  }
  if (count < 0 || count > kMost)
    throw InvalidArgumentError("from {} to {} in steps of {} there are too many numbers", start, limit, delta);
  return count;
}

/// Vector by vector, since an integer needs no rounding of the one before; the difference may wrap around.
template <class T>
void count_up(std::span<T> numbers, T start, T delta) {
  using Wrapping = std::make_unsigned_t<T>;
  using Vector = typename VectorOf<Wrapping, kVectorSize<T>>::type;
  std::array<Wrapping, kVectorSize<T>> first;
  for (std::size_t i = 0; i < first.size(); ++i)
    first[i] = static_cast<Wrapping>(start) + static_cast<Wrapping>(i) * static_cast<Wrapping>(delta);
  auto next = load<Vector>(first.data());
  const Vector step = Vector{} + static_cast<Wrapping>(first.size()) * static_cast<Wrapping>(delta);
  std::size_t at = 0;
  for (; at + first.size() <= numbers.size(); at += first.size(), next += step) store(next, numbers.data() + at);
  store(next, first.data());
  for (std::size_t i = 0; at + i < numbers.size(); ++i) numbers[at + i] = static_cast<T>(first[i]);
}

inline Kernel make_range(const Node& node) {
  return kernel_for(NumberTypes{}, node, "Tidx", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      const T delta = context.input(2).scalar<T>();
      const T start = context.input(0).scalar<T>();
      const std::span<T> numbers = context.output<T>(0, Shape{range_size(start, context.input(1).scalar<T>(), delta)});
      if constexpr (std::is_integral_v<T>) {
        count_up(numbers, start, delta);
      } else {
        T value = start;
        for (std::size_t i = 0; i < numbers.size(); ++i, value += delta) numbers[i] = value;
      }
    });
  });
}

/// Returns the requested shape with its -1 replaced by the actual extent.
inline Shape requested_shape(const Tensor& tensor, const Tensor& wanted) {
  Ints dims = ints_of(wanted);
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& dim : dims) {
    if (dim != -1) {
      if (__builtin_mul_overflow(known, dim, &known)) throw InvalidArgumentError("the wanted shape is too large");
    } else if (open != nullptr) {
      throw InvalidArgumentError("only one dimension of the wanted shape may be -1");
    } else {
      open = &dim;
    }
  }
  if (open != nullptr) {
    if (known == 0 || tensor.num_elements() % known != 0) {
      throw InvalidArgumentError("a tensor of {} elements has no dimension that makes it a multiple of {}",
                                 tensor.num_elements(), known);
    }
    *open = tensor.num_elements() / known;
  }
  return shape_of_ints(dims);
}

inline Kernel make_reshape(const Node&) {
  return +[](KernelContext& context) {
    context.set_output(0, context.input(0).reshaped(requested_shape(context.input(0), context.input(1))));
  };
}

inline Kernel make_expand_dims(const Node&) {
  return +[](KernelContext& context) {
    const Shape& shape = context.shape(0);
    const std::size_t axis = axis_of(int_of(context.input(1)), shape.rank() + 1);
    Ints dims;
    for (std::size_t i = 0; i <= shape.rank(); ++i) {
      if (i == axis) dims.push_back(1);
      if (i < shape.rank()) dims.push_back(shape[i]);
    }
    context.set_output(0, context.input(0).reshaped(shape_of_ints(dims)));
  };
}

inline Kernel make_squeeze(const Node& node) {
  return [axes = node.attr<std::vector<std::int64_t>>("squeeze_dims")](KernelContext& context) {
    const Shape& shape = context.shape(0);
    std::array<bool, kMaxRank> goes{};
    for (std::size_t i = 0; i < shape.rank(); ++i) goes[i] = axes.empty() && shape[i] == 1;
    for (const std::int64_t axis : axes) {
      const std::size_t at = axis_of(axis, shape.rank());
      if (shape[at] != 1)
        throw InvalidArgumentError("cannot squeeze dimension {}, which has {} elements", at, shape[at]);
      goes[at] = true;
    }
    Ints dims;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (!goes[i]) dims.push_back(shape[i]);
    }
    context.set_output(0, context.input(0).reshaped(shape_of_ints(dims)));
  };
}

template <class From, class To>
void cast_elements(KernelContext& context) {
  if constexpr (std::is_same_v<From, bool> && !std::is_same_v<To, bool>) {  // Eigen has vectors of bytes, not of bool
    const auto* const from = stored<std::uint8_t>(context.input(0));
    ArrayMap<To> result = output_array<To>(context, 0, context.shape(0));
    for_each_block(context, {result.size(), 1}, [&](const Block& block) {
      result.segment(block.begin, block.size()) =
          ConstArrayMap<std::uint8_t>(from + block.begin, block.size()).template cast<To>();
    });
  } else {
    compute_elements<To, From>(context, [](const auto& x) { return x.template cast<To>(); });
  }
}

/// The same between any dtypes of real numbers, element by element.
template <class To>
void cast_rare_elements(KernelContext& context) {
  const Tensor& from = context.input(0);
  if constexpr (std::is_integral_v<To>) {
    const std::span<To> to = context.output<To>(0, from.shape());
    visit_real(from, [&](const auto elements) {
      std::ranges::transform(elements, to.begin(), [](auto x) { return real_as<To>(x); });
    });
  } else {
    cast_floats(from, 0, dtype_of<To>, context.output(0, dtype_of<To>, from.shape()).overwrite_bytes());
  }
}

using RealTypes = DTypes<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                         std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>;

inline Kernel make_cast(const Node& node) {
  const auto is_common = [&node]<class... Ts>(DTypes<Ts...>, std::string_view attr) {
    return ((node.attr<DType>(attr) == dtype_of<Ts>) || ...);
  };
  const bool is_rare = !is_common(CastTypes{}, "SrcT") || !is_common(CastTypes{}, "DstT");
  if (is_rare && is_real(node.attr<DType>("SrcT")))
    return kernel_for(RealTypes{}, node, "DstT", []<class To>() { return Kernel(cast_rare_elements<To>); });
  return kernel_for(CastTypes{}, node, "SrcT", [&]<class From>() {
    return kernel_for(CastTypes{}, node, "DstT", []<class To>() { return Kernel(cast_elements<From, To>); });
  });
}

using FillTypes = DTypes<float, double, std::int32_t, std::int64_t, std::uint8_t, bool, std::string>;

inline Kernel make_fill(const Node& node) {
  return kernel_for(FillTypes{}, node, "T", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      const std::span<const T> value = context.data<T>(1);
      if (value.size() != 1) throw InvalidArgumentError("the value must be a scalar");
      std::ranges::fill(context.output<T>(0, shape_of_ints(ints_of(context.input(0)))), value[0]);
    });
  });
}

inline Kernel make_zeros_like(const Node&) {
  return +[](KernelContext& context) { set_to_zero(context.output(0, context.input(0).dtype(), context.shape(0))); };
}

inline Kernel make_ones_like(const Node& node) {
  return kernel_for(CastTypes{}, node, "T", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      fill_elements(context.output<T>(0, context.shape(0)).data(), context.shape(0).num_elements(), T{1});
    });
  });
}

template <class T, class Index>
void one_hot(KernelContext& context, std::int64_t axis_attr) {
  const Shape& indices = context.shape(0);
  const std::int64_t depth = context.input(1).scalar<std::int32_t>();
  if (depth < 0) throw InvalidArgumentError("depth must not be negative, but is {}", depth);
  const T on = context.input(2).scalar<T>();
  const T off = context.input(3).scalar<T>();
  const std::size_t axis = axis_of(axis_attr, indices.rank() + 1);
  Ints dims;
  for (std::size_t i = 0; i <= indices.rank(); ++i) {
    if (i == axis) dims.push_back(depth);
    if (i < indices.rank()) dims.push_back(indices[i]);
  }
  const std::span<T> result = context.output<T>(0, shape_of_ints(dims));
  std::ranges::fill(result, off);
  const std::int64_t inner = product_of(indices, axis, indices.rank());
  std::int64_t at = 0;
  for (const Index index : context.data<Index>(0)) {
    const auto hot = static_cast<std::int64_t>(index);
    if (hot >= 0 && hot < depth) result[static_cast<std::size_t>((at / inner * depth + hot) * inner + at % inner)] = on;
    ++at;
  }
}

inline Kernel make_one_hot(const Node& node) {
  const std::int64_t axis = node.attr<std::int64_t>("axis");
  return kernel_for(CastTypes{}, node, "T", [&]<class T>() {
    return kernel_for(DTypes<std::uint8_t, std::int32_t, std::int64_t>{}, node, "TI", [axis]<class Index>() {
      return Kernel([axis](KernelContext& context) { one_hot<T, Index>(context, axis); });
    });
  });
}

/// For each of two shapes, the axes along which a gradient is summed to undo broadcasting.
template <class T>
void broadcast_gradient_args(KernelContext& context) {
  const Shape x = shape_of_ints(ints_of(context.input(0)));
  const Shape y = shape_of_ints(ints_of(context.input(1)));
  const Shape whole = broadcast_shapes(x, y);
  const auto axes = [&](std::size_t output, const Shape& own) {
    Ints repeated;
    for (std::size_t i = 0; i < whole.rank(); ++i) {
      const bool missing = i + own.rank() < whole.rank();
      if (missing || own[i + own.rank() - whole.rank()] == 1) repeated.push_back(static_cast<std::int64_t>(i));
    }
    const std::span<T> result = context.output<T>(output, Shape{static_cast<std::int64_t>(repeated.size())});
    std::ranges::transform(repeated, result.begin(), [](std::int64_t axis) { return static_cast<T>(axis); });
  };
  axes(0, x);
  axes(1, y);
}

inline Kernel make_broadcast_gradient_args(const Node& node) {
  return kernel_for(IndexTypes{}, node, "T", []<class T>() { return Kernel(broadcast_gradient_args<T>); });
}

/// Puts the rows of several tensors at their indices. If two rows have the same index, the later one wins. The first
/// half of the inputs are the indices, the second half the tensors.
inline void dynamic_stitch(KernelContext& context) {
  const std::size_t count = context.num_inputs() / 2;
  const auto row_of = [&](std::size_t i) {
    return Ints(context.shape(count + i).dims().subspan(context.shape(i).rank()));
  };
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Shape& indices = context.shape(i);
    const Shape& data = context.shape(count + i);
    const bool fits =
        indices.rank() <= data.rank() && std::ranges::equal(indices.dims(), data.dims().first(indices.rank()));
    if (!fits || !std::ranges::equal(row_of(i), row_of(0))) {
      throw InvalidArgumentError("data {} of shape {} does not go with indices of shape {} and the other data", i, data,
                                 indices);
    }
    for (const std::int32_t index : context.data<std::int32_t>(i)) {
      if (index < 0) throw InvalidArgumentError("index {} of indices {} is negative", index, i);
      rows = (std::max)(rows, std::int64_t{index} + 1);
    }
  }
  Ints dims{rows};
  for (const std::int64_t dim : row_of(0)) dims.push_back(dim);
  Tensor& out = context.output(0, context.input(count).dtype(), shape_of_ints(dims));
  set_to_zero(out);
  const std::int64_t width = product_of(out.shape(), 1, out.shape().rank());
  visit_storage(out.dtype(), [&]<class T>() {
    T* const to = stored_for_writing<T>(out);
    for (std::size_t i = 0; i < count; ++i) {
      const T* from = stored<T>(context.input(count + i));
      for (const std::int32_t index : context.data<std::int32_t>(i)) {
        std::copy_n(from, width, to + index * width);
        from += width;
      }
    }
  });
}

inline Kernel make_dynamic_stitch(const Node&) { return dynamic_stitch; }

inline constexpr std::array kArray{
    KernelDef{.type = "Shape", .make = make_shape},
    KernelDef{.type = "ShapeN", .make = make_shape},
    KernelDef{.type = "Size", .make = make_size},
    KernelDef{.type = "Rank", .make = make_rank},
    KernelDef{.type = "Range", .make = make_range},
    KernelDef{.type = "DynamicStitch", .make = make_dynamic_stitch},
    KernelDef{.type = "ParallelDynamicStitch", .make = make_dynamic_stitch},
    KernelDef{.type = "Reshape", .make = make_reshape, .alias = true},
    KernelDef{.type = "ExpandDims", .make = make_expand_dims, .alias = true},
    KernelDef{.type = "Squeeze", .make = make_squeeze, .alias = true},
    KernelDef{.type = "Cast", .make = make_cast},
    KernelDef{.type = "Fill", .make = make_fill},
    KernelDef{.type = "ZerosLike", .make = make_zeros_like},
    KernelDef{.type = "OnesLike", .make = make_ones_like},
    KernelDef{.type = "OneHot", .make = make_one_hot},
    KernelDef{.type = "BroadcastGradientArgs", .make = make_broadcast_gradient_args},
};

}  // namespace detail

KernelGroup array() noexcept { return detail::kArray; }

}  // namespace trainhook::kernels
