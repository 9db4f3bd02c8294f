// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that select elements by index, segment or condition.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/strided_copy.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

template <class Index>
void gather(KernelContext& context) {
  const Shape& params = context.shape(0);
  const std::size_t axis = axis_of(int_of(context.input(2)), params.rank());
  Ints dims;
  for (std::size_t i = 0; i < axis; ++i) dims.push_back(params[i]);
  for (const std::int64_t dim : context.shape(1).dims()) dims.push_back(dim);
  for (std::size_t i = axis + 1; i < params.rank(); ++i) dims.push_back(params[i]);
  const std::int64_t outer = product_of(params, 0, axis);
  const std::int64_t inner = product_of(params, axis + 1, params.rank());
  const std::span<const Index> indices = context.data<Index>(1);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= params[axis])
      throw InvalidArgumentError("indices[{}] = {} is not in [0, {})", i, indices[i], params[axis]);
  }
  Tensor& out = context.output(0, context.input(0).dtype(), shape_of_ints(dims));
  if (out.num_elements() == 0) return;
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    const T* from = stored<T>(context.input(0));
    const std::int64_t each = out.num_elements() / outer;
    for (std::int64_t i = 0; i < outer; ++i, from += params[axis] * inner, to += each) {
      for_each_block(context, {static_cast<std::int64_t>(indices.size()), inner}, [&](const Block& block) {
        for (std::int64_t k = block.begin; k < block.end; ++k)
          std::copy_n(from + indices[static_cast<std::size_t>(k)] * inner, inner, to + k * inner);
      });
    }
  });
}

inline Kernel make_gather(const Node& node) {
  if (node.attr<std::int64_t>("batch_dims") != 0)
    throw UnimplementedError("GatherV2 '{}': batch_dims must be 0", node.name());
  return kernel_for(IndexTypes{}, node, "Tindices", []<class Index>() { return Kernel(gather<Index>); });
}

/// Finds the offsets of the slices of a tensor that vectors of indices name.
template <class Index>
class IndexedSlices {
 public:
  /// `indices` are vectors in their last dimension. @throws InvalidArgumentError if they are longer than `shape`.
  IndexedSlices(const Tensor& indices, const Shape& shape)
      : indices_(indices.data<Index>()), shape_(shape), strides_(full_strides(shape)) {
    const std::size_t rank = indices.shape().rank();
    if (rank == 0) throw InvalidArgumentError("indices must be of rank 1 or more");
    depth_ = static_cast<std::size_t>(indices.shape()[rank - 1]);
    if (depth_ > shape.rank()) throw InvalidArgumentError("indices name {} dimensions of {}", depth_, shape);
    count_ = product_of(indices.shape(), 0, rank - 1);
    size_ = product_of(shape, depth_, shape.rank());
  }

  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }  // of a slice

  /// @throws InvalidArgumentError if an index is out of range.
  [[nodiscard]] std::int64_t offset(std::int64_t i) const {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < depth_; ++d) {
      const std::int64_t index = indices_[static_cast<std::size_t>(i) * depth_ + d];
      if (index < 0 || index >= shape_[d])
        throw InvalidArgumentError("indices[{}] has {}, which does not index into dimension {} of shape {}", i, index,
                                   d, shape_);
      at += index * strides_[d];
    }
    return at;
  }

 private:
  std::span<const Index> indices_;
  const Shape& shape_;
  Ints strides_;
  std::size_t depth_ = 0;
  std::int64_t count_ = 0;
  std::int64_t size_ = 0;
};

template <class Index>
void gather_nd(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const Shape& indices = context.shape(1);
  const IndexedSlices<Index> slices(context.input(1), shape);
  Ints dims;
  for (std::size_t i = 0; i + 1 < indices.rank(); ++i) dims.push_back(indices[i]);
  for (std::size_t i = slices.depth(); i < shape.rank(); ++i) dims.push_back(shape[i]);
  Tensor& out = context.output(0, context.input(0).dtype(), shape_of_ints(dims));
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    const T* const from = stored<T>(context.input(0));
    if (slices.size() == 1) {
      for (std::int64_t i = 0; i < slices.count(); ++i) *to++ = from[slices.offset(i)];
    } else {
      for (std::int64_t i = 0; i < slices.count(); ++i) to = std::copy_n(from + slices.offset(i), slices.size(), to);
    }
  });
}

inline Kernel make_gather_nd(const Node& node) {
  return kernel_for(IndexTypes{}, node, "Tindices", []<class Index>() { return Kernel(gather_nd<Index>); });
}

template <class T, class Index>
void scatter_nd(KernelContext& context) {
  const Shape shape = shape_of_ints(ints_of(context.input(2)));
  const IndexedSlices<Index> slices(context.input(0), shape);
  if (context.input(1).num_elements() != slices.count() * slices.size()) {
    throw InvalidArgumentError("updates of shape {} do not go with indices of shape {} in a tensor of shape {}",
                               context.shape(1), context.shape(0), shape);
  }
  ArrayMap<T> out = output_array<T>(context, 0, shape);
  out.setZero();
  const ConstTableMap<T> updates(context.data<T>(1).data(), slices.count(), slices.size());
  for (std::int64_t i = 0; i < slices.count(); ++i)
    out.segment(slices.offset(i), slices.size()) += updates.row(i).transpose();
}

inline Kernel make_scatter_nd(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "Tindices", []<class Index>() { return Kernel(scatter_nd<T, Index>); });
  });
}

/// A row of indices for each element that is not zero.
template <class T>
void where(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const std::span<const T> elements = context.data<T>(0);
  const auto count = std::ranges::count_if(elements, [](T element) { return element != T{0}; });
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::int64_t* to = context.output<std::int64_t>(0, Shape{count, rank}).data();
  std::array<std::int64_t, kMaxRank> index{};
  for (const T element : elements) {
    if (element != T{0}) to = std::copy_n(index.begin(), shape.rank(), to);
    for (std::size_t i = shape.rank(); i-- > 0 && ++index[i] == shape[i];) index[i] = 0;
  }
}

inline Kernel make_where(const Node& node) {
  return kernel_for(CastTypes{}, node, "T", []<class T>() { return Kernel(where<T>); });
}

/// Ids do not decrease; a segment without rows is zero.
template <class T, class Index>
void segment_sum(KernelContext& context) {
  const Shape& data = context.shape(0);
  const std::span<const Index> ids = context.data<Index>(1);
  if (data.rank() == 0 || context.shape(1) != Shape{data[0]})
    throw InvalidArgumentError("segment_ids of shape {} do not go with data of shape {}", context.shape(1), data);
  if (!std::ranges::is_sorted(ids)) throw InvalidArgumentError("segment ids are not increasing");
  if (!ids.empty() && ids.front() < 0) throw InvalidArgumentError("segment ids must be >= 0, not {}", ids.front());
  Ints dims(data.dims());
  dims[0] = ids.empty() ? 0 : std::int64_t{ids.back()} + 1;
  const std::int64_t inner = product_of(data, 1, data.rank());
  const ConstTableMap<T> rows(context.data<T>(0).data(), data[0], inner);
  TableMap<T> sums(context.output<T>(0, shape_of_ints(dims)).data(), dims[0], inner);
  sums.setZero();
  for (std::size_t i = 0; i < ids.size(); ++i) sums.row(ids[i]) += rows.row(static_cast<Eigen::Index>(i));
}

inline Kernel make_segment_sum(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "Tindices", []<class Index>() { return Kernel(segment_sum<T, Index>); });
  });
}

template <class T, class Index>
void unsorted_segment_sum(KernelContext& context) {
  const Shape& data = context.shape(0);
  const Shape& ids = context.shape(1);
  const std::int64_t segments = int_of(context.input(2));
  bool fits = ids.rank() <= data.rank() && segments >= 0;
  for (std::size_t i = 0; fits && i < ids.rank(); ++i) fits = ids[i] == data[i];
  if (!fits)
    throw InvalidArgumentError("data of shape {} does not go with segment_ids of shape {} and {} segments", data, ids,
                               segments);
  Ints dims;
  dims.push_back(segments);
  for (std::size_t i = ids.rank(); i < data.rank(); ++i) dims.push_back(data[i]);
  const std::int64_t inner = product_of(data, ids.rank(), data.rank());
  const ConstTableMap<T> rows(context.data<T>(0).data(), ids.num_elements(), inner);
  TableMap<T> sums(context.output<T>(0, shape_of_ints(dims)).data(), segments, inner);
  sums.setZero();
  std::int64_t row = 0;
  for (const Index id : context.data<Index>(1)) {
    if (id >= segments) throw InvalidArgumentError("segment id {} is out of range [0, {})", id, segments);
    if (id >= 0) sums.row(id) += rows.row(row);
    ++row;
  }
}

inline Kernel make_unsorted_segment_sum(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "Tindices",
                      []<class Index>() { return Kernel(unsorted_segment_sum<T, Index>); });
  });
}

/// What SelectV2 chooses from: all elements of an input, of which `step` is 1, or one of them for all, with `step` 0.
template <class T>
struct Choice {
  const T* from;
  std::int64_t step;
};

/// Chooses `count` contiguous elements of the result. The steps are constants in the loop, and there is no branch in
/// it, so that the compiler makes vectors of it.
template <class T>
void select_run(T* to, Choice<bool> condition, Choice<T> yes, Choice<T> no, std::int64_t count) {
  if (condition.step == 0) {
    const Choice<T>& chosen = *condition.from ? yes : no;
    if (chosen.step == 0) {
      std::fill_n(to, count, *chosen.from);
    } else {
      std::copy_n(chosen.from, count, to);
    }
    return;
  }
  const auto choose = [&](auto yes_step, auto no_step) {
    for (std::int64_t i = 0; i < count; ++i) {
      const T& y = yes.from[i * yes_step];
      const T& n = no.from[i * no_step];
      if constexpr (std::is_unsigned_v<T>) {
        to[i] = static_cast<T>(n ^ ((y ^ n) & static_cast<T>(-static_cast<int>(condition.from[i]))));
      } else {
        to[i] = condition.from[i] ? y : n;
      }
    }
  };
  constexpr std::integral_constant<std::int64_t, 0> kSame;
  constexpr std::integral_constant<std::int64_t, 1> kNext;
  if (yes.step != 0 && no.step != 0) return choose(kNext, kNext);
  if (yes.step != 0) return choose(kNext, kSame);
  if (no.step != 0) return choose(kSame, kNext);
  choose(kSame, kSame);
}

inline void select(KernelContext& context) {
  const Shape whole = broadcast_shapes(context.shape(0), broadcast_shapes(context.shape(1), context.shape(2)));
  std::array<Ints, 3> strides;
  std::array<std::int64_t, 3> steps{};
  bool is_simple = true;  // each input has all elements, or one for all
  for (std::size_t i = 0; i < 3; ++i) {
    strides[i] = broadcast_strides(context.shape(i), whole);
    steps[i] = context.shape(i) == whole ? 1 : 0;
    is_simple = is_simple && (steps[i] == 1 || context.shape(i).num_elements() == 1);
  }
  const bool* condition = context.data<bool>(0).data();
  Tensor& out = context.output(0, context.input(1).dtype(), whole);
  if (out.num_elements() == 0) return;
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    const T* if_true = stored<T>(context.input(1));
    const T* if_false = stored<T>(context.input(2));
    if (is_simple) {
      for_each_block(context, {whole.num_elements(), 1}, [&](const Block& block) {
        const auto begin = [&](std::size_t i) { return block.begin * steps[i]; };
        select_run<T>(to + block.begin, {condition + begin(0), steps[0]}, {if_true + begin(1), steps[1]},
                      {if_false + begin(2), steps[2]}, block.size());
      });
      return;
    }
    const std::size_t last = whole.rank() - 1;
    for_each_block(context, {whole.num_elements() / whole[last], whole[last]}, [&](const Block& block) {
      std::array<std::int64_t, kMaxRank> index{};
      std::int64_t rest = block.begin;
      for (std::size_t axis = last; axis-- > 0; rest /= whole[axis]) index[axis] = rest % whole[axis];
      for (std::int64_t run = block.begin; run < block.end; ++run) {
        std::array<std::int64_t, 3> at{};
        for (std::size_t i = 0; i < 3; ++i) {
          for (std::size_t axis = 0; axis < last; ++axis) at[i] += index[axis] * strides[i][axis];
        }
        select_run<T>(to + run * whole[last], {condition + at[0], strides[0][last]},
                      {if_true + at[1], strides[1][last]}, {if_false + at[2], strides[2][last]}, whole[last]);
        for (std::size_t axis = last; axis-- > 0 && ++index[axis] == whole[axis];) index[axis] = 0;
      }
    });
  });
}

/// TensorFlow 1's form: nothing broadcasts, but one condition may decide for all elements, or for all of a row.
inline void select_rows(KernelContext& context) {
  const Shape& condition = context.shape(0);
  const Shape& shape = context.shape(1);
  const bool is_rows = condition.rank() == 1 && shape.rank() > 0 && condition[0] == shape[0];
  if (shape != context.shape(2) || (!is_rows && condition.rank() > 0 && condition != shape)) {
    throw InvalidArgumentError("condition {} does not choose between {} and {}", condition, shape, context.shape(2));
  }
  Tensor& out = context.output(0, context.input(1).dtype(), shape);
  if (out.num_elements() == 0) return;
  const std::int64_t each = shape.num_elements() / condition.num_elements();
  const bool* holds = context.data<bool>(0).data();
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    const T* if_true = stored<T>(context.input(1));
    const T* if_false = stored<T>(context.input(2));
    for_each_block(context, {condition.num_elements(), each}, [&](const Block& block) {
      const auto run = [&](std::int64_t row, std::int64_t step, std::int64_t count) {
        const std::int64_t at = row * each;
        select_run<T>(to + at, {holds + row, step}, {if_true + at, 1}, {if_false + at, 1}, count);
      };
      if (each == 1) return run(block.begin, 1, block.size());
      for (std::int64_t row = block.begin; row < block.end; ++row) run(row, 0, each);
    });
  });
}

inline constexpr std::array kSelection{
    KernelDef{.type = "GatherV2", .make = make_gather},
    KernelDef{.type = "GatherNd", .make = make_gather_nd},
    KernelDef{.type = "ScatterNd", .make = make_scatter_nd},
    KernelDef{.type = "Where", .make = make_where},
    KernelDef{.type = "SegmentSum", .make = make_segment_sum},
    KernelDef{.type = "UnsortedSegmentSum", .make = make_unsorted_segment_sum},
    KernelDef{.type = "SelectV2", .make = [](const Node&) { return Kernel(select); }},
    KernelDef{.type = "Select", .make = [](const Node&) { return Kernel(select_rows); }},
};

}  // namespace detail

KernelGroup selection() noexcept { return detail::kSelection; }

}  // namespace trainhook::kernels
