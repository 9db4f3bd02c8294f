// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that rearrange elements: space, depth and batch, mirror padding, sequences, bands.
#pragma once

#include <trainhook/compat/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/strided_copy.hpp>
#include <trainhook/compat/ops/rearrange.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// Blocks of spatial dimensions, whose elements are also rows of a batch: those of the first element of all blocks, of
/// the second, and so on.
struct SpatialBlocks {
  Shape image{};    ///< [batch, spatial..., rest...]
  Shape batched{};  ///< [batch * elements of a block, blocks..., rest...]
  Ints size{};
  Ints before{};  ///< how many elements of the first block come before the image

  /// Calls `copy(offset in batched, offset in image, strides of image, dims)` for each element of a block.
  void for_each_element(const auto& copy) const {
    if (image.num_elements() == 0) return;
    const Ints batched_strides = full_strides(batched);
    const Ints image_strides = full_strides(image);
    Ints at(size);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = 0;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < size.size(); ++i) count *= size[i];
    for (std::int64_t element = 0; element < count; ++element) {
      std::int64_t in_batched = element * image[0] * batched_strides[0];
      std::int64_t in_image = 0;
      Ints dims(batched.dims());
      dims[0] = image[0];
      Ints strides = image_strides;
      for (std::size_t i = 0; i < size.size(); ++i) {  // blocks whose element is in the image
        const std::int64_t missing = (std::max)(before[i] - at[i], std::int64_t{0});
        const std::int64_t first = (missing + size[i] - 1) / size[i];
        const std::int64_t end = (image[i + 1] + before[i] - at[i] + size[i] - 1) / size[i];
        dims[i + 1] = (std::max)((std::min)(end, batched[i + 1]) - first, std::int64_t{0});
        in_batched += first * batched_strides[i + 1];
        in_image += (first * size[i] + at[i] - before[i]) * image_strides[i + 1];
        strides[i + 1] *= size[i];
      }
      copy(in_batched, in_image, strides, dims);
      for (std::size_t i = size.size(); i-- > 0 && ++at[i] == size[i];) at[i] = 0;
    }
  }
};

/// The sizes of a block, input 1. @throws InvalidArgumentError if they are not positive or too many.
inline Ints block_of(const KernelContext& context) {
  const Ints sizes = ints_of(context.input(1));
  if (sizes.size() >= context.shape(0).rank())
    throw InvalidArgumentError("a block of {} dimensions does not go with {}", sizes.size(), context.shape(0));
  if (std::ranges::any_of(sizes, [](std::int64_t x) { return x < 1; }))
    throw InvalidArgumentError("the sizes of a block must be positive");
  return sizes;
}

inline void space_to_batch(KernelContext& context) {
  SpatialBlocks blocks{.image = context.shape(0), .size = block_of(context)};
  const auto around = pairs_of(context.input(2), blocks.size.size());
  Ints dims(blocks.image.dims());
  for (std::size_t i = 0; i < blocks.size.size(); ++i) {
    blocks.before.push_back(around[2 * i]);
    const auto count = blocks_in(dims[i + 1], around[2 * i], around[2 * i + 1], blocks.size[i]);
    if (!count || __builtin_mul_overflow(dims[0], blocks.size[i], &dims[0]))
      throw InvalidArgumentError("dimension {} of {} with {} and {} elements around it cannot be blocks of {}", i + 1,
                                 blocks.image, around[2 * i], around[2 * i + 1], blocks.size[i]);
    dims[i + 1] = *count;
  }
  blocks.batched = shape_of_ints(dims);
  Tensor& out = context.output(0, context.input(0).dtype(), blocks.batched);
  set_to_zero(out);
  blocks.for_each_element([&](std::int64_t to, std::int64_t from, const Ints& strides, const Ints& extents) {
    copy_strided(context, out, {to, full_strides(blocks.batched)}, context.input(0), {from, strides}, extents);
  });
}

inline void batch_to_space(KernelContext& context) {
  SpatialBlocks blocks{.batched = context.shape(0), .size = block_of(context)};
  const auto around = pairs_of(context.input(2), blocks.size.size());
  Ints dims(blocks.batched.dims());
  for (std::size_t i = 0; i < blocks.size.size(); ++i) {
    blocks.before.push_back(around[2 * i]);
    const auto count = elements_in(dims[i + 1], around[2 * i], around[2 * i + 1], blocks.size[i]);
    if (!count || dims[0] % blocks.size[i] != 0)
      throw InvalidArgumentError("{} does not go with blocks of {} in dimension {}", context.shape(0), blocks.size[i],
                                 i + 1);
    dims[i + 1] = *count;
    dims[0] /= blocks.size[i];
  }
  blocks.image = shape_of_ints(dims);
  Tensor& out = context.output(0, context.input(0).dtype(), blocks.image);
  blocks.for_each_element([&](std::int64_t from, std::int64_t to, const Ints& strides, const Ints& extents) {
    copy_strided(context, out, {to, strides}, context.input(0), {from, full_strides(blocks.batched)}, extents);
  });
}

template <void (*Code)(KernelContext&)>
Kernel of_real_numbers(const Node& node) {
  const DType dtype = node.attr<DType>("T");
  if (!is_integer(dtype) && !is_floating(dtype))
    throw UnimplementedError("{} of {} (node '{}') has no kernel", node.type(), dtype, node.name());
  return Code;
}

/// An image [batch, height, width, channels] with blocks of `size` by `size` pixels, and the same with a pixel for each
/// block.
inline void move_depth(KernelContext& context, std::int64_t size, bool to_space) {
  const Shape& shape = context.shape(0);
  if (shape.rank() != 4) throw InvalidArgumentError("the image must be of rank 4");
  const std::int64_t area = size * size;
  if (to_space ? shape[3] % area != 0 : shape[1] % size != 0 || shape[2] % size != 0)
    throw InvalidArgumentError("{} does not go with a block_size of {}", shape, size);
  Ints extents(shape.dims());
  const auto change = [&](std::size_t dim, std::int64_t by, bool multiplies) {
    if (!multiplies) {
      extents[dim] /= by;
    } else if (__builtin_mul_overflow(extents[dim], by, &extents[dim])) {
      throw InvalidArgumentError("{} is too large for a block_size of {}", shape, size);
    }
  };
  change(1, size, to_space);
  change(2, size, to_space);
  change(3, area, !to_space);
  const Shape result = shape_of_ints(extents);
  const Shape& space = to_space ? result : shape;
  const Ints row = full_strides(space);
  const Ints pixel = full_strides(to_space ? shape : result);
  const std::int64_t channels = space[3];
  const std::array<std::int64_t, 6> dims{space[0], space[1] / size, space[2] / size, size, size, channels};
  const std::array<std::int64_t, 6> in_space{row[0], row[1] * size, row[2] * size, row[1], row[2], 1};
  const std::array<std::int64_t, 6> in_depth{pixel[0], pixel[1], pixel[2], size * channels, channels, 1};
  const auto ints = [](const std::array<std::int64_t, 6>& values) {
    return Ints(std::span<const std::int64_t>(values));
  };
  Tensor& out = context.output(0, context.input(0).dtype(), result);
  copy_strided(context, out, {0, ints(to_space ? in_space : in_depth)}, context.input(0),
               {0, ints(to_space ? in_depth : in_space)}, ints(dims));
}
template <bool ToSpace>
Kernel make_move_depth(const Node& node) {
  if (node.attr<std::string>("data_format") != "NHWC")
    throw UnimplementedError("{} '{}': data_format must be NHWC", node.type(), node.name());
  return [size = node.attr<std::int64_t>("block_size")](KernelContext& context) { move_depth(context, size, ToSpace); };
}

/// @throws InvalidArgumentError if a dimension of `extent` elements has too few to mirror.
inline void require_mirrored(std::int64_t extent, std::int64_t before, std::int64_t after, bool reflects) {
  const std::int64_t most = reflects ? extent - 1 : extent;
  if (before > most || after > most)
    throw InvalidArgumentError("paddings {} and {} of {} elements: at most {} can be mirrored", before, after, extent,
                               most);
}

/// Which element of `extent` is at each place of a dimension with mirrored ones around it.
inline std::vector<std::int64_t> mirrored(std::int64_t extent, std::int64_t before, std::int64_t after, bool reflects) {
  const std::int64_t edge = reflects ? 1 : 0;
  std::vector<std::int64_t> places;
  for (std::int64_t i = before; i > 0; --i) places.push_back(i - 1 + edge);
  for (std::int64_t i = 0; i < extent; ++i) places.push_back(i);
  for (std::int64_t i = 0; i < after; ++i) places.push_back(extent - 1 - edge - i);
  return places;
}

/// The places of the elements of a tensor in one with mirrored elements around it.
struct MirroredPlaces {
  std::vector<std::vector<std::int64_t>> dims;  // all but those behind the last that has something around it
  Ints strides;                                 // of the tensor
  std::int64_t run = 1;                         // elements behind these dimensions, which stay together

  MirroredPlaces(const Shape& shape, const Ints& around, bool reflects) : strides(full_strides(shape)) {
    std::size_t rank = shape.rank();
    while (rank > 1 && around[2 * rank - 2] == 0 && around[2 * rank - 1] == 0) run *= shape[--rank];
    for (std::size_t i = 0; i < rank; ++i)
      dims.push_back(mirrored(shape[i], around[2 * i], around[2 * i + 1], reflects));
  }

  /// Calls `visit(place in the padded tensor, place in the other one)` for the first element of each run.
  void for_each_run(const auto& visit) const {
    if (dims.empty()) return visit(0, 0);
    std::vector<std::size_t> at(dims.size());
    std::int64_t place = 0;
    for (bool is_end = false; !is_end;) {
      std::int64_t row = 0;
      for (std::size_t i = 0; i + 1 < dims.size(); ++i) row += dims[i][at[i]] * strides[i];
      const std::int64_t stride = strides[dims.size() - 1];
      for (const std::int64_t element : dims.back()) {
        visit(place, row + element * stride);
        place += run;
      }
      std::size_t axis = dims.size() - 1;
      while (axis > 0 && ++at[axis - 1] == dims[axis - 1].size()) at[--axis] = 0;
      is_end = axis == 0;
    }
  }
};

inline void mirror_pad(KernelContext& context, bool reflects) {
  const Shape& shape = context.shape(0);
  const Ints around = pairs_of(context.input(1), shape.rank());
  for (std::size_t i = 0; i < shape.rank(); ++i) require_mirrored(shape[i], around[2 * i], around[2 * i + 1], reflects);
  Tensor& out = context.output(0, context.input(0).dtype(), padded_shape(shape, around));
  if (out.num_elements() == 0) return;
  const MirroredPlaces places(shape, around, reflects);
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    const T* from = stored<T>(context.input(0));
    if (places.run == 1) {
      places.for_each_run([&](std::int64_t place, std::int64_t other) { to[place] = from[other]; });
    } else {
      places.for_each_run(
          [&](std::int64_t place, std::int64_t other) { std::copy_n(from + other, places.run, to + place); });
    }
  });
}

template <class T>
void mirror_pad_grad(KernelContext& context, bool reflects) {
  const Shape& whole = context.shape(0);
  const Ints around = pairs_of(context.input(1), whole.rank());
  Ints dims;
  for (std::size_t i = 0; i < whole.rank(); ++i) {
    const auto extent = cropped(whole[i], around[2 * i], around[2 * i + 1]);
    if (!extent) throw InvalidArgumentError("the paddings are more than dimension {} of {}", i, whole);
    require_mirrored(*extent, around[2 * i], around[2 * i + 1], reflects);
    dims.push_back(*extent);
  }
  const Shape result = shape_of_ints(dims);
  ArrayMap<T> to = output_array<T>(context, 0, result);
  if (to.size() == 0) return;
  to.setZero();
  const T* from = context.data<T>(0).data();
  const MirroredPlaces places(result, around, reflects);
  places.for_each_run([&](std::int64_t place, std::int64_t other) {
    to.segment(other, places.run) += ConstArrayMap<T>(from + place, places.run);
  });
}

inline void pad_with(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const Ints paddings = pairs_of(context.input(1), shape.rank());
  if (context.shape(2).rank() != 0) throw InvalidArgumentError("constant_values must be a scalar");
  Tensor& out = context.output(0, context.input(0).dtype(), padded_shape(shape, paddings));
  visit_storage(out.dtype(), [&]<class T>() {
    std::fill_n(stored_for_writing<T>(out), out.num_elements(), *stored<T>(context.input(2)));
  });
  const Ints strides = full_strides(out.shape());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shape.rank(); ++i) offset += paddings[2 * i] * strides[i];
  copy_strided(context, out, {offset, strides}, context.input(0), {0, full_strides(shape)}, Ints(shape.dims()));
}

inline Kernel make_mirror_pad(const Node& node) {
  return [reflects = node.attr<std::string>("mode") == "REFLECT"](KernelContext& context) {
    mirror_pad(context, reflects);
  };
}
inline Kernel make_mirror_pad_grad(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", [&]<class T>() {
    return Kernel([reflects = node.attr<std::string>("mode") == "REFLECT"](KernelContext& context) {
      mirror_pad_grad<T>(context, reflects);
    });
  });
}

/// The first elements of each sequence, as many as the lengths say, in reverse.
inline void reverse_sequence(KernelContext& context, std::int64_t batch_dim, std::int64_t seq_dim) {
  const Shape& shape = context.shape(0);
  const std::size_t batch = axis_of(batch_dim, shape.rank());
  const std::size_t steps = axis_of(seq_dim, shape.rank());
  if (batch == steps) throw InvalidArgumentError("batch_dim and seq_dim are the same");
  const Ints lengths = ints_of(context.input(1));
  if (static_cast<std::int64_t>(lengths.size()) != shape[batch])
    throw InvalidArgumentError("there are {} lengths for {} sequences", lengths.size(), shape[batch]);
  Tensor& out = context.output(0, context.input(0).dtype(), shape);
  const Ints strides = full_strides(shape);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t length = lengths[i];
    if (length < 0 || length > shape[steps])
      throw InvalidArgumentError("lengths[{}] = {} is not in [0, {}]", i, length, shape[steps]);
    const std::int64_t start = static_cast<std::int64_t>(i) * strides[batch];
    Ints dims(shape.dims());
    dims[batch] = 1;
    dims[steps] = length;
    Ints backwards = strides;
    backwards[steps] = -strides[steps];
    copy_strided(context, out, {start, strides}, context.input(0), {start + (length - 1) * strides[steps], backwards},
                 dims);
    dims[steps] = shape[steps] - length;
    const std::int64_t rest = start + length * strides[steps];
    copy_strided(context, out, {rest, strides}, context.input(0), {rest, strides}, dims);
  }
}
inline Kernel make_reverse_sequence(const Node& node) {
  return [batch = node.attr<std::int64_t>("batch_dim"), steps = node.attr<std::int64_t>("seq_dim")](
             KernelContext& context) { reverse_sequence(context, batch, steps); };
}

/// Matrices with zeros off the diagonals from `lower` below the main one to `upper` above it; a negative number keeps
/// all of that side.
inline void matrix_band_part(KernelContext& context) {
  const Shape& shape = context.shape(0);
  if (shape.rank() < 2) throw InvalidArgumentError("the input must be of rank 2 or more");
  const std::int64_t rows = shape[shape.rank() - 2];
  const std::int64_t columns = shape[shape.rank() - 1];
  const std::int64_t lower = int_of(context.input(1));
  const std::int64_t upper = int_of(context.input(2));
  if (lower > rows || upper > columns)
    throw InvalidArgumentError("a band of {} below and {} above leaves matrices of {} by {}", lower, upper, rows,
                               columns);
  Tensor& out = context.output(0, context.input(0).dtype(), shape);
  set_to_zero(out);
  if (out.num_elements() == 0) return;
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    const T* from = stored<T>(context.input(0));
    for (std::int64_t row = 0; row < shape.num_elements() / columns; ++row, to += columns, from += columns) {
      const std::int64_t i = row % rows;
      const std::int64_t first = lower < 0 ? 0 : (std::min)((std::max)(i - lower, std::int64_t{0}), columns);
      const std::int64_t end = upper < 0 ? columns : (std::min)(i + upper + 1, columns);
      if (first < end) std::copy(from + first, from + end, to + first);
    }
  });
}

inline Kernel make_matrix_band_part(const Node& node) {
  if (node.attr<DType>("T") == DType::String)
    throw UnimplementedError("MatrixBandPart of string (node '{}') has no kernel", node.name());
  return matrix_band_part;
}

inline constexpr std::array kRearrange{
    KernelDef{.type = "BatchToSpaceND", .make = of_real_numbers<batch_to_space>},
    KernelDef{.type = "DepthToSpace", .make = make_move_depth<true>},
    KernelDef{.type = "MatrixBandPart", .make = make_matrix_band_part},
    KernelDef{.type = "MirrorPad", .make = make_mirror_pad},
    KernelDef{.type = "MirrorPadGrad", .make = make_mirror_pad_grad},
    KernelDef{.type = "PadV2", .make = [](const Node&) { return Kernel(pad_with); }},
    KernelDef{.type = "ReverseSequence", .make = make_reverse_sequence},
    KernelDef{.type = "SpaceToBatchND", .make = of_real_numbers<space_to_batch>},
    KernelDef{.type = "SpaceToDepth", .make = make_move_depth<false>},
};

}  // namespace detail

KernelGroup rearrange() noexcept { return detail::kRearrange; }

}  // namespace trainhook::kernels
