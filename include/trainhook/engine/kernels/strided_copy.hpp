// SPDX-License-Identifier: Apache-2.0
/// @file
/// Strided copies between tensors of any dtype, for transpose, slice, pad, concat and tile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

namespace trainhook::detail {

/// Row-major strides in elements, also for dimensions of extent 1.
[[nodiscard]] inline Ints full_strides(const Shape& shape) {
  Ints strides(shape.dims());
  std::int64_t stride = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

/// The offset of a copy in a tensor, and its strides.
struct StridedView {
  std::int64_t offset = 0;
  Ints strides{};
};

using Element16 = std::array<std::uint64_t, 2>;

/// Calls `visit.operator()<T>()` with a type that copies elements of the dtype unchanged.
template <class Visit>
void visit_storage(DType dtype, const Visit& visit) {
  if (dtype == DType::String) return visit.template operator()<std::string>();
  switch (dtype_size(dtype)) {
    case 1: return visit.template operator()<std::uint8_t>();
    case 2: return visit.template operator()<std::uint16_t>();
    case 4: return visit.template operator()<std::uint32_t>();
    case 8: return visit.template operator()<std::uint64_t>();
    default: return visit.template operator()<Element16>();
  }
}

/// The elements as `T`, one of `visit_storage`'s types.
template <class T>
[[nodiscard]] const T* stored(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, std::string>) {
    return tensor.data<std::string>().data();
  } else {
    return reinterpret_cast<const T*>(tensor.bytes().data());
  }
}
template <class T>
[[nodiscard]] T* stored_for_writing(Tensor& tensor) {
  if constexpr (std::is_same_v<T, std::string>) {
    return tensor.mutable_data<std::string>().data();
  } else {
    return reinterpret_cast<T*>(tensor.mutable_bytes().data());
  }
}

/// Drops dimensions of extent 1 and merges those that are contiguous on both sides.
inline void simplify(Ints& dims, Ints& to, Ints& from) {
  Ints kept;
  Ints kept_to;
  Ints kept_from;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const std::size_t last = kept.size() - 1;
    if (!kept.empty() && kept_to[last] == to[i] * dims[i] && kept_from[last] == from[i] * dims[i]) {
      kept[last] *= dims[i];
      kept_to[last] = to[i];
      kept_from[last] = from[i];
    } else {
      kept.push_back(dims[i]);
      kept_to.push_back(to[i]);
      kept_from.push_back(from[i]);
    }
  }
  dims = kept;
  to = kept_to;
  from = kept_from;
}

/// Makes `count` elements `value`: a few of them, and then copies of those, since memcpy has the processor's widest
/// vectors.
template <class T>
void fill_elements(T* to, std::int64_t count, const T& value) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    constexpr auto kFirst = static_cast<std::int64_t>(4096 / sizeof(T));
    std::fill_n(to, (std::min)(count, kFirst), value);
    for (std::int64_t at = kFirst; at < count; at += kFirst)
      std::memcpy(to + at, to, static_cast<std::size_t>((std::min)(kFirst, count - at)) * sizeof(T));
  } else {
    std::fill_n(to, count, value);
  }
}

/// Copies `count` elements, of which the first is `from[0]` and the next ones lie before it.
template <class T>
void copy_reversed(T* to, const T* from, std::int64_t count) {
  std::int64_t i = 0;
  if constexpr (std::is_integral_v<T>) {
    constexpr std::size_t kSize = kernels::detail::kVectorSize<T>;
    using Vector = typename kernels::detail::VectorOf<T, kSize>::type;
    constexpr auto kStep = static_cast<std::int64_t>(kSize);
    for (; i + kStep <= count; i += kStep) {
      const auto elements = kernels::detail::load<Vector>(from - i - kStep + 1);
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        kernels::detail::store(__builtin_shufflevector(elements, elements, (kSize - 1 - I)...), to + i);
      }(std::make_index_sequence<kSize>{});
    }
  }
  for (; i < count; ++i) to[i] = from[-i];
}

template <class T>
void copy_dims(T* to, const T* from, const Ints& dims, const Ints& to_strides, const Ints& from_strides,
               std::size_t axis) {
  if (axis + 1 < dims.size()) {
    for (std::int64_t i = 0; i < dims[axis]; ++i) {
      copy_dims(to + i * to_strides[axis], from + i * from_strides[axis], dims, to_strides, from_strides, axis + 1);
    }
  } else if (to_strides[axis] == 1 && from_strides[axis] == 1) {
    std::copy_n(from, dims[axis], to);
  } else if (to_strides[axis] == 1 && from_strides[axis] == 0) {
    fill_elements(to, dims[axis], *from);
  } else if (to_strides[axis] == 1 && from_strides[axis] == -1) {
    copy_reversed(to, from, dims[axis]);
  } else {
    const std::int64_t to_stride = to_strides[axis];  // kept in registers, whatever the elements may alias
    const std::int64_t from_stride = from_strides[axis];
    const std::int64_t count = dims[axis];
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

/// Copies an array of extents `dims`. Both tensors must have the same dtype, and all indices must be inside them.
inline void copy_strided(const KernelContext& context, Tensor& out, StridedView to, const Tensor& in, StridedView from,
                         Ints dims) {
  if (std::ranges::any_of(dims, [](std::int64_t dim) { return dim == 0; })) return;
  simplify(dims, to.strides, from.strides);
  visit_storage(out.dtype(), [&]<class T>() {
    T* const target = stored_for_writing<T>(out) + to.offset;
    const T* const source = stored<T>(in) + from.offset;
    if (dims.empty()) {
      *target = *source;
      return;
    }
    for_each_block(context, {dims[0], product_behind_first(dims)}, [&](const Block& block) {
      Ints part = dims;
      part[0] = block.size();
      copy_dims(target + block.begin * to.strides[0], source + block.begin * from.strides[0], part, to.strides,
                from.strides, 0);
    });
  });
}

/// Sets all elements to zero or empty strings.
inline void set_to_zero(Tensor& tensor) {
  if (tensor.dtype() == DType::String) {
    std::ranges::fill(tensor.overwrite_data<std::string>(), std::string());
  } else {
    std::ranges::fill(tensor.overwrite_bytes(), std::byte{0});
  }
}

}  // namespace trainhook::detail
