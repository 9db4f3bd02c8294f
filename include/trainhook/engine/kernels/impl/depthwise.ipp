// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of depthwise convolution over images [batch, height, width, channels], with its gradients.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/vectors.hpp>
#include <trainhook/engine/kernels/windows.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The extents of a depthwise convolution: each channel has its own `multiplier` filters.
struct DepthwiseShape {
  std::int64_t batch;
  Sweep height;
  Sweep width;
  std::int64_t channels;
  std::int64_t multiplier;

  DepthwiseShape(const Shape& image, const Shape& filter, const WindowAttrs& attrs)
      : batch(checked(image, filter)[0]),
        height(Sweep::over_height(image[1], filter[0], attrs)),
        width(Sweep::over_width(image[2], filter[1], attrs)),
        channels(image[3]),
        multiplier(filter[3]) {}

  [[nodiscard]] std::int64_t values() const noexcept { return channels * multiplier; }  // of a pixel of the result
  [[nodiscard]] Shape result() const { return {batch, height.steps, width.steps, values()}; }
  [[nodiscard]] std::int64_t image_size() const noexcept { return height.extent * width.extent * channels; }
  [[nodiscard]] std::int64_t result_size() const noexcept { return height.steps * width.steps * values(); }

  void require_gradient(const Shape& gradient) const {
    if (gradient != result())
      throw InvalidArgumentError("the gradient has shape {}, the result {}", gradient, result());
  }

  /// The images in blocks of at least `least`.
  [[nodiscard]] Blocks images(std::int64_t least = 1) const noexcept {
    constexpr std::int64_t kPerCost = 4;
    const std::int64_t places = (std::min)(height.size * width.size, kPerCost * kBlockCost);
    return {batch, result_size() / kPerCost * places, least};
  }

  /// Calls `code(pixel, place of the filter)` for each place of the window at (y, x) that is on the image.
  template <class Code>
  void for_each_place(std::int64_t y, std::int64_t x, const Code& code) const {
    for (std::int64_t row = height.first(y); row < height.last(y); ++row) {
      const std::int64_t line = (height.start(y) + row) * width.extent + width.start(x);
      for (std::int64_t column = width.first(x); column < width.last(x); ++column)
        code(line + column, row * width.size + column);
    }
  }

  /// Calls `code(window, place of the filter)` for each window that has the pixel at (y, x).
  template <class Code>
  void for_each_window(std::int64_t y, std::int64_t x, const Code& code) const {
    for_each_step(height, y, [&](std::int64_t row, std::int64_t place_row) {
      for_each_step(width, x, [&](std::int64_t column, std::int64_t place_column) {
        code(row * width.steps + column, place_row * width.size + place_column);
      });
    });
  }

 private:
  template <class Code>
  static void for_each_step(const Sweep& sweep, std::int64_t pixel, const Code& code) {
    const std::int64_t last = pixel + sweep.before;  // the place of the pixel in the first window
    for (std::int64_t place = last % sweep.stride; place <= (std::min)(last, sweep.size - 1); place += sweep.stride) {
      const std::int64_t step = (last - place) / sweep.stride;
      if (step < sweep.steps) code(step, place);
    }
  }

  static const Shape& checked(const Shape& image, const Shape& filter) {
    if (image.rank() != 4 || filter.rank() != 4) throw InvalidArgumentError("image and filter must be of rank 4");
    if (image[3] != filter[2])
      throw InvalidArgumentError("an image of {} channels and a filter of {}", image[3], filter[2]);
    if (filter[0] < 1 || filter[1] < 1) throw InvalidArgumentError("the filter is empty");
    return image;
  }
};

/// Sums up products of two pixels, value by value, for which the sum stays in registers.
template <class T>
class PixelSum {
 public:
  PixelSum(std::int64_t values, T* result) noexcept : values_(values), result_(result) {}

  void add(const T* a, const T* b) noexcept {
    if (count_ == kMost) write();
    pairs_[count_++] = {a, b};
  }

  void write() noexcept {
    using Vector = typename VectorOf<T, kVectorSize<T>>::type;
    std::int64_t at = 0;
    write_tiles<Vector, 4>(at);
    write_tiles<Vector, 1>(at);
    write_tiles<T, 1>(at);
    count_ = 0;
    adds_ = true;
  }

 private:
  static constexpr std::size_t kMost = 32;
  struct Pair {
    const T* a;
    const T* b;
  };

  /// Tiles of some vectors, as many as there are from `at` on.
  template <class Vector, std::size_t Vectors>
  void write_tiles(std::int64_t& at) const noexcept {
    constexpr std::int64_t kStep = std::is_same_v<Vector, T> ? 1 : kVectorSize<T>;
    for (; at + kStep * std::int64_t{Vectors} <= values_; at += kStep * std::int64_t{Vectors}) {
      Vector sums[Vectors] = {};
      if (adds_) unrolled<Vectors>([&](auto v) { sums[v] = load<Vector>(result_ + at + v * kStep); });
      for (std::size_t i = 0; i < count_; ++i) {
        const Pair& pair = pairs_[i];
        unrolled<Vectors>(
            [&](auto v) { sums[v] += load<Vector>(pair.a + at + v * kStep) * load<Vector>(pair.b + at + v * kStep); });
      }
      unrolled<Vectors>([&](auto v) { store(sums[v], result_ + at + v * kStep); });
    }
  }

  std::int64_t values_;
  T* result_;
  std::size_t count_ = 0;
  bool adds_ = false;
  std::array<Pair, kMost> pairs_;
};

/// The image with each value as often as there are multipliers, in `memory`: like that, it has the values of the
/// result.
template <class T>
const T* repeated_channels(const T* image, const DepthwiseShape& shape, T* memory) {
  if (shape.multiplier == 1) return image;
  const T* const end = image + shape.image_size();
  for (T* to = memory; image < end; image += shape.channels, to += shape.values()) {
    for (std::int64_t i = 0; i < shape.multiplier; ++i) {
      for (std::int64_t c = 0; c < shape.channels; ++c) to[c * shape.multiplier + i] = image[c];
    }
  }
  return memory;
}

/// The way back: sums up the values of each channel.
template <class T>
void sum_repeated(const T* from, const DepthwiseShape& shape, T* image) {
  const T* const end = image + shape.image_size();
  for (; image < end; image += shape.channels, from += shape.values()) {
    std::fill_n(image, shape.channels, T{0});
    for (std::int64_t i = 0; i < shape.multiplier; ++i) {
      for (std::int64_t c = 0; c < shape.channels; ++c) image[c] += from[c * shape.multiplier + i];
    }
  }
}

/// The memory for an image with repeated values.
inline std::size_t repeated_channels_size(const DepthwiseShape& shape) noexcept {
  return shape.multiplier == 1 ? 0 : static_cast<std::size_t>(shape.image_size() * shape.multiplier);
}

/// Calls `code(i, memory)` for all images, with memory for a repeated one.
template <class T, class Code>
void for_each_image(const KernelContext& context, const DepthwiseShape& shape, const Code& code) {
  const Blocks images = shape.images();
  const WorkerMemory<T> memory(context, images, repeated_channels_size(shape));
  for_each_block(context, images, [&](const Block& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i) code(i, memory.of(block));
  });
}

template <class T>
void depthwise_conv2d(KernelContext& context, const WindowAttrs& attrs) {
  const DepthwiseShape shape(context.shape(0), context.shape(1), attrs);
  const std::span<T> result = context.output<T>(0, shape.result());
  const T* const filter = context.data<T>(1).data();
  const std::int64_t values = shape.values();
  for_each_image<T>(context, shape, [&](std::int64_t i, T* memory) {
    const T* const image = repeated_channels(context.data<T>(0).data() + i * shape.image_size(), shape, memory);
    T* to = result.data() + i * shape.result_size();
    for (std::int64_t y = 0; y < shape.height.steps; ++y) {
      for (std::int64_t x = 0; x < shape.width.steps; ++x, to += values) {
        PixelSum<T> sum(values, to);
        shape.for_each_place(y, x, [&](std::int64_t pixel, std::int64_t place) {
          sum.add(image + pixel * values, filter + place * values);
        });
        sum.write();
      }
    }
  });
}

template <class T>
void depthwise_backprop_input(KernelContext& context, const WindowAttrs& attrs) {
  const Shape size = shape_in_input(context, 0);
  const DepthwiseShape shape(size, context.shape(1), attrs);
  shape.require_gradient(context.shape(2));
  const std::span<T> result = context.output<T>(0, size);
  const T* const filter = context.data<T>(1).data();
  const std::int64_t values = shape.values();
  for_each_image<T>(context, shape, [&](std::int64_t i, T* memory) {
    const T* const gradient = context.data<T>(2).data() + i * shape.result_size();
    T* const image = result.data() + i * shape.image_size();
    T* const repeated_image = shape.multiplier == 1 ? image : memory;
    T* to = repeated_image;
    for (std::int64_t y = 0; y < shape.height.extent; ++y) {
      for (std::int64_t x = 0; x < shape.width.extent; ++x, to += values) {
        PixelSum<T> sum(values, to);
        shape.for_each_window(y, x, [&](std::int64_t window, std::int64_t place) {
          sum.add(gradient + window * values, filter + place * values);
        });
        sum.write();
      }
    }
    if (shape.multiplier != 1) sum_repeated(repeated_image, shape, image);
  });
}

template <class T>
void depthwise_backprop_filter(KernelContext& context, const WindowAttrs& attrs) {
  const Shape size = shape_in_input(context, 1);
  const DepthwiseShape shape(context.shape(0), size, attrs);
  shape.require_gradient(context.shape(2));
  ArrayMap<T> all = output_array<T>(context, 0, size);
  all.setZero();
  const Blocks images = shape.images((std::max)(shape.batch / 16, std::int64_t{4}));
  const WorkerMemory<T> memory(context, images, repeated_channels_size(shape),
                               images.parts(static_cast<std::size_t>(all.size())));
  const std::int64_t values = shape.values();
  sum_over_blocks(context, images, all, memory.shared(), [&](const Block& block, ArrayMap<T> sum) {
    sum.setZero();
    for (std::int64_t i = block.begin; i < block.end; ++i) {
      const T* const image =
          repeated_channels(context.data<T>(0).data() + i * shape.image_size(), shape, memory.of(block));
      const T* gradient = context.data<T>(2).data() + i * shape.result_size();
      for (std::int64_t y = 0; y < shape.height.steps; ++y) {
        for (std::int64_t x = 0; x < shape.width.steps; ++x, gradient += values) {
          shape.for_each_place(y, x, [&](std::int64_t pixel, std::int64_t place) {
            ArrayMap<T>(sum.data() + place * values, values) +=
                ConstArrayMap<T>(image + pixel * values, values) * ConstArrayMap<T>(gradient, values);
          });
        }
      }
    }
  });
}

/// The kernel that calls `code.operator()<T>(context, attributes)`.
template <class Code>
Kernel make_depthwise(const Node& node, Code code) {
  const WindowAttrs attrs = window_attrs(node, true);
  if (attrs.stride_height != attrs.stride_width || attrs.dilation_height != 1 || attrs.dilation_width != 1)
    throw UnimplementedError("{} '{}': both strides must be equal, and dilations must be 1", node.type(), node.name());
  return kernel_for(FloatingTypes{}, node, "T", [attrs, code]<class T>() {
    return Kernel([=](KernelContext& context) { code.template operator()<T>(context, attrs); });
  });
}
inline Kernel make_depthwise_conv2d(const Node& node) {
  return make_depthwise(
      node, []<class T>(KernelContext& context, const WindowAttrs& attrs) { depthwise_conv2d<T>(context, attrs); });
}
inline Kernel make_depthwise_backprop_input(const Node& node) {
  return make_depthwise(node, []<class T>(KernelContext& context, const WindowAttrs& attrs) {
    depthwise_backprop_input<T>(context, attrs);
  });
}
inline Kernel make_depthwise_backprop_filter(const Node& node) {
  return make_depthwise(node, []<class T>(KernelContext& context, const WindowAttrs& attrs) {
    depthwise_backprop_filter<T>(context, attrs);
  });
}

inline constexpr std::array kDepthwise{
    KernelDef{.type = "DepthwiseConv2dNative", .make = make_depthwise_conv2d},
    KernelDef{.type = "DepthwiseConv2dNativeBackpropFilter", .make = make_depthwise_backprop_filter},
    KernelDef{.type = "DepthwiseConv2dNativeBackpropInput", .make = make_depthwise_backprop_input},
};

}  // namespace detail

KernelGroup depthwise() noexcept { return detail::kDepthwise; }

}  // namespace trainhook::kernels
