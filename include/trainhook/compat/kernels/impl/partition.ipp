// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of partitions, buckets, counts of equal elements, sparse and accidental hits.
#pragma once

#include <trainhook/compat/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/strided_copy.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The shape, as a vector, that two shapes broadcast to.
template <class T>
void broadcast_args(KernelContext& context) {
  const Shape whole =
      broadcast_shapes(shape_of_ints(ints_of(context.input(0))), shape_of_ints(ints_of(context.input(1))));
  const std::span<T> dims = context.output<T>(0, Shape{static_cast<std::int64_t>(whole.rank())});
  for (std::size_t i = 0; i < whole.rank(); ++i) dims[i] = static_cast<T>(whole[i]);
}

/// How many of the boundaries are no larger than each element; for NaN all of them.
template <class T>
void bucketize(KernelContext& context, const std::vector<float>& boundaries) {
  using Compared =
      std::conditional_t<std::is_integral_v<T>, float, T>;  // as in C++, where TensorFlow leaves it to that
  const std::span<const T> x = context.data<T>(0);
  const std::span<std::int32_t> buckets = context.output<std::int32_t>(0, context.shape(0));
  for_each_block(context, {std::ssize(x), 16}, [&](const Block& block) {
    for (auto i = static_cast<std::size_t>(block.begin); i < static_cast<std::size_t>(block.end); ++i) {
      const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), static_cast<Compared>(x[i]),
                                          [](Compared element, float boundary) { return element < boundary; });
      buckets[i] = static_cast<std::int32_t>(above - boundaries.begin());
    }
  });
}
inline Kernel make_bucketize(const Node& node) {
  const auto* const floats = std::get_if<std::vector<float>>(&node.attrs().at("boundaries"));
  const std::vector<float> boundaries =
      floats != nullptr ? *floats : std::vector<float>();  // an empty list has no kind
  if (!std::ranges::is_sorted(boundaries))
    throw InvalidArgumentError("Bucketize '{}': the boundaries must be sorted", node.name());
  return kernel_for(NumberTypes{}, node, "T", [&]<class T>() {
    return Kernel([boundaries](KernelContext& context) { bucketize<T>(context, boundaries); });
  });
}

/// Which rows of classes hold a candidate, by row and candidate, and the weight that takes it out of a softmax.
inline void compute_accidental_hits(KernelContext& context) {
  const std::span<const std::int64_t> classes = context.data<std::int64_t>(0);
  const std::span<const std::int64_t> candidates = context.data<std::int64_t>(1);
  const auto each = static_cast<std::size_t>(context.node().attr<std::int64_t>("num_true"));
  if (context.shape(0).rank() != 2 || context.shape(0)[1] != static_cast<std::int64_t>(each))
    throw InvalidArgumentError("true_classes must be of shape [batch,{}], not {}", each, context.shape(0));
  std::unordered_map<std::int64_t, std::int64_t> places;  // of two equal candidates the last one
  for (std::size_t i = 0; i < candidates.size(); ++i) places[candidates[i]] = static_cast<std::int64_t>(i);
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto found = places.find(classes[i]);
    if (found == places.end()) continue;
    rows.push_back(static_cast<std::int32_t>(i / each));
    ids.push_back(found->second);
  }
  const Shape shape{static_cast<std::int64_t>(rows.size())};
  std::ranges::copy(rows, context.output<std::int32_t>(0, shape).begin());
  std::ranges::copy(ids, context.output<std::int64_t>(1, shape).begin());
  std::ranges::fill(context.output<float>(2, shape), -(std::numeric_limits<float>::max)());
}

inline void dynamic_partition(KernelContext& context) {
  const Shape& data = context.shape(0);
  const Shape& parts = context.shape(1);
  bool fits = parts.rank() <= data.rank();
  for (std::size_t i = 0; fits && i < parts.rank(); ++i) fits = parts[i] == data[i];
  if (!fits) throw InvalidArgumentError("the shape {} of data must begin with {}, that of partitions", data, parts);
  const std::span<const std::int32_t> numbers = context.data<std::int32_t>(1);
  std::vector<std::int64_t> counts(context.num_outputs());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || static_cast<std::size_t>(numbers[i]) >= counts.size())
      throw InvalidArgumentError("partitions[{}] = {} is not in [0, {})", i, numbers[i], counts.size());
    ++counts[static_cast<std::size_t>(numbers[i])];
  }
  const std::int64_t each = product_of(data, parts.rank(), data.rank());
  std::vector<Tensor*> outputs;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    Ints dims;
    dims.push_back(counts[i]);
    for (std::size_t k = parts.rank(); k < data.rank(); ++k) dims.push_back(data[k]);
    outputs.push_back(&context.output(i, context.input(0).dtype(), shape_of_ints(dims)));
  }
  if (context.input(0).num_elements() == 0) return;
  visit_storage(context.input(0).dtype(), [&]<class T>() {
    std::vector<T*> to;
    for (Tensor* output : outputs) to.push_back(stored_for_writing<T>(*output));
    const T* from = stored<T>(context.input(0));
    for (const std::int32_t number : numbers) {
      T*& at = to[static_cast<std::size_t>(number)];
      at = std::copy_n(from, each, at);
      from += each;
    }
  });
}

inline void identity_n(KernelContext& context) {
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    const Tensor& in = context.input(i);
    const Ints strides = full_strides(in.shape());
    copy_strided(context, context.output(i, in.dtype(), in.shape()), {0, strides}, in, {0, strides},
                 Ints(in.shape().dims()));
  }
}

/// Values at indices, and the default value everywhere else.
template <class Index>
void sparse_to_dense(KernelContext& context, bool validates) {
  const Shape& indices = context.shape(0);
  const Shape shape = shape_of_ints(ints_of(context.input(1)));
  if (indices.rank() > 2) throw InvalidArgumentError("sparse_indices must be a scalar, a vector or a matrix");
  const std::int64_t count = indices.rank() > 0 ? indices[0] : 1;
  const std::int64_t depth = indices.rank() == 2 ? indices[1] : 1;
  if (depth != static_cast<std::int64_t>(shape.rank()))
    throw InvalidArgumentError("sparse_indices name {} dimensions of {}", depth, shape);
  if (context.shape(2).rank() > 0 && context.shape(2) != Shape{count})
    throw InvalidArgumentError("sparse_values must be a scalar or have {} elements, not {}", count, context.shape(2));
  if (context.shape(3).rank() != 0) throw InvalidArgumentError("default_value must be a scalar");
  const std::span<const Index> index = context.data<Index>(0);
  const Ints strides = full_strides(shape);
  std::vector<std::int64_t> places;
  const bool is_one = depth == 0 && context.shape(2).rank() == 0 && !validates;  // place and value, however often
  for (std::int64_t i = 0; i < (is_one ? (std::min)(count, std::int64_t{1}) : count); ++i) {
    std::int64_t place = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      const auto dim = static_cast<std::size_t>(k);
      const std::int64_t at = index[static_cast<std::size_t>(i * depth + k)];
      if (at < 0 || at >= shape[dim])
        throw InvalidArgumentError("sparse_indices[{}] is out of bounds: {} is not in [0, {})", i, at, shape[dim]);
      place += at * strides[dim];
    }
    if (validates && !places.empty() && place <= places.back())
      throw InvalidArgumentError("sparse_indices[{}] is {}", i, place == places.back() ? "repeated" : "out of order");
    places.push_back(place);
  }
  Tensor& out = context.output(0, context.input(2).dtype(), shape);
  if (out.num_elements() == 0) return;
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    std::fill_n(to, out.num_elements(), *stored<T>(context.input(3)));
    const T* from = stored<T>(context.input(2));
    const std::int64_t step = context.shape(2).rank() == 0 ? 0 : 1;
    for (const std::int64_t place : places) {
      to[place] = *from;
      from += step;
    }
  });
}
inline Kernel make_sparse_to_dense(const Node& node) {
  return kernel_for(IndexTypes{}, node, "Tindices", [&]<class Index>() {
    return Kernel([validates = node.attr<bool>("validate_indices")](KernelContext& context) {
      sparse_to_dense<Index>(context, validates);
    });
  });
}

/// Elements that differ, in the order in which they were added, and a hash table of their places.
template <class T, class Index>
class DistinctElements {
 public:
  /// The place of the element that equals this one.
  Index add(const T& element) {
    if (2 * elements_.size() >= slots_.size()) grow();
    Index& slot = slot_of(element);
    if (slot < 0) {
      slot = static_cast<Index>(elements_.size());
      elements_.push_back(element);
    }
    return slot;
  }

  [[nodiscard]] const std::vector<T>& elements() const noexcept { return elements_; }

 private:
  static constexpr int kFirstBits = 8;

  Index& slot_of(const T& element) {
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // spreads the hashes of integers, which are themselves
    auto at = static_cast<std::size_t>(std::uint64_t{std::hash<T>{}(element)} * kGoldenRatio >> (64 - bits_));
    while (slots_[at] >= 0 && elements_[static_cast<std::size_t>(slots_[at])] != element)
      at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void grow() {
    bits_ = slots_.empty() ? kFirstBits : bits_ + 1;
    slots_.assign(std::size_t{1} << bits_, -1);
    for (std::size_t i = 0; i < elements_.size(); ++i) slot_of(elements_[i]) = static_cast<Index>(i);
  }

  std::vector<T> elements_;
  std::vector<Index> slots_;  // places, or -1
  int bits_ = 0;              // of the number of slots
};

template <class T, class Index>
void unique_with_counts(KernelContext& context) {
  if (context.shape(0).rank() != 1)
    throw InvalidArgumentError("the input must be a vector, but has shape {}", context.shape(0));
  const std::span<const T> elements = context.data<T>(0);
  const std::span<Index> places = context.output<Index>(1, context.shape(0));
  DistinctElements<T, Index> found;
  std::vector<Index> counts;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    places[i] = found.add(elements[i]);
    counts.resize(found.elements().size());
    ++counts[static_cast<std::size_t>(places[i])];
  }
  const Shape shape{static_cast<std::int64_t>(counts.size())};
  std::ranges::copy(found.elements(), context.output<T>(0, shape).begin());
  std::ranges::copy(counts, context.output<Index>(2, shape).begin());
}
inline Kernel make_unique_with_counts(const Node& node) {
  return kernel_for(DTypes<float, double, std::int32_t, std::int64_t, std::string>{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "out_idx",
                      []<class Index>() { return Kernel(unique_with_counts<T, Index>); });
  });
}

/// The different elements of a vector in the order in which they come first, and for each element the place of its
/// like.
template <class T, class Index>
void unique(KernelContext& context) {
  if (context.shape(0).rank() != 1)
    throw InvalidArgumentError("the input must be a vector, but has shape {}", context.shape(0));
  DistinctElements<T, Index> found;
  std::ranges::transform(context.data<T>(0), context.output<Index>(1, context.shape(0)).begin(),
                         [&](const T& element) { return found.add(element); });
  const std::vector<T>& elements = found.elements();
  std::ranges::copy(elements, context.output<T>(0, Shape{std::ssize(elements)}).begin());
}

inline Kernel make_unique_elements(const Node& node) {
  return kernel_for(DTypes<float, double, std::int32_t, std::int64_t, std::string>{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "out_idx", []<class Index>() { return Kernel(unique<T, Index>); });
  });
}

/// The version with an axis, which is input 1: it runs for vectors, which have one axis at most.
template <Kernel (*Make)(const Node&)>
Kernel make_of_vectors(const Node& node) {
  return [of_vector = Make(node)](KernelContext& context) {
    const Tensor& axis = context.input(1);
    if (axis.num_elements() > 1) throw InvalidArgumentError("axis has {} elements, more than one", axis.num_elements());
    if (axis.num_elements() == 1) {
      static_cast<void>(axis_of(ints_of(axis)[0], context.shape(0).rank()));
      if (context.shape(0).rank() != 1)
        throw UnimplementedError("rows of {} are not compared here, only elements of vectors", context.shape(0));
    }
    of_vector(context);
  };
}

/// The elements of one vector that another lacks, in order and with their places.
template <class T, class Index>
void list_diff(KernelContext& context) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.shape(i).rank() != 1)
      throw InvalidArgumentError("input {} must be a vector, but has shape {}", i, context.shape(i));
  }
  const std::span<const T> elements = context.data<T>(0);
  const std::span<const T> others = context.data<T>(1);
  const std::unordered_set<T> left_out(others.begin(), others.end());
  std::vector<T> found;
  std::vector<Index> places;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (left_out.contains(elements[i])) continue;
    found.push_back(elements[i]);
    places.push_back(static_cast<Index>(i));
  }
  const Shape shape{static_cast<std::int64_t>(found.size())};
  std::ranges::copy(found, context.output<T>(0, shape).begin());
  std::ranges::copy(places, context.output<Index>(1, shape).begin());
}

inline Kernel make_list_diff(const Node& node) {
  return kernel_for(DTypes<float, double, std::int32_t, std::int64_t, std::string>{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "out_idx", []<class Index>() { return Kernel(list_diff<T, Index>); });
  });
}

inline constexpr std::array kPartition{
    KernelDef{.type = "BroadcastArgs",
              .make =
                  [](const Node& node) {
                    return kernel_for(IndexTypes{}, node, "T", []<class T>() { return Kernel(broadcast_args<T>); });
                  }},
    KernelDef{.type = "Bucketize", .make = make_bucketize},
    KernelDef{.type = "ComputeAccidentalHits", .make = [](const Node&) { return Kernel(compute_accidental_hits); }},
    KernelDef{.type = "DynamicPartition", .make = [](const Node&) { return Kernel(dynamic_partition); }},
    KernelDef{.type = "IdentityN", .make = [](const Node&) { return Kernel(identity_n); }},
    KernelDef{.type = "ListDiff", .make = make_list_diff},
    KernelDef{.type = "SparseToDense", .make = make_sparse_to_dense},
    KernelDef{.type = "Unique", .make = make_unique_elements},
    KernelDef{.type = "UniqueV2", .make = make_of_vectors<make_unique_elements>},
    KernelDef{.type = "UniqueWithCountsV2", .make = make_of_vectors<make_unique_with_counts>},
    KernelDef{.type = "UniqueWithCounts", .make = make_unique_with_counts},
};

}  // namespace detail

KernelGroup partition() noexcept { return detail::kPartition; }

}  // namespace trainhook::kernels
