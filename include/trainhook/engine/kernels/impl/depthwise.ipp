// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of depthwise convolution over images [batch, height, width, channels], with its gradients.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
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

  [[nodiscard]] Shape result() const { return {batch, height.steps, width.steps, channels * multiplier}; }

  void require_gradient(const Shape& gradient) const {
    if (gradient != result())
      throw InvalidArgumentError("the gradient has shape {}, the result {}", gradient, result());
  }

  /// The images in blocks of at least `least`.
  [[nodiscard]] Blocks images(std::int64_t least = 1) const noexcept {
    constexpr std::int64_t kPerCost = 4;
    const std::int64_t places = (std::min)(height.size * width.size, kPerCost * kBlockCost);
    return {batch, height.steps * width.steps * channels * multiplier / kPerCost * places, least};
  }

  /// Calls `code(place of the result, place of the image, place of the filter)` for each place of each window that is
  /// on one of the images; places are counted in pixels.
  template <class Code>
  void for_each_place(const Block& images, const Code& code) const {
    for (std::int64_t image = images.begin; image < images.end; ++image) {
      for (std::int64_t y = 0; y < height.steps; ++y) {
        for (std::int64_t x = 0; x < width.steps; ++x) {
          const std::int64_t to = (image * height.steps + y) * width.steps + x;
          for (std::int64_t row = height.first(y); row < height.last(y); ++row) {
            const std::int64_t line = image * height.extent + height.start(y) + row;
            for (std::int64_t column = width.first(x); column < width.last(x); ++column)
              code(to, line * width.extent + width.start(x) + column, row * width.size + column);
          }
        }
      }
    }
  }

 private:
  static const Shape& checked(const Shape& image, const Shape& filter) {
    if (image.rank() != 4 || filter.rank() != 4) throw InvalidArgumentError("image and filter must be of rank 4");
    if (image[3] != filter[2])
      throw InvalidArgumentError("an image of {} channels and a filter of {}", image[3], filter[2]);
    if (filter[0] < 1 || filter[1] < 1) throw InvalidArgumentError("the filter is empty");
    return image;
  }
};

/// A pixel of an image, of a result or of a filter: a row for each channel, with its values for each multiplier.
template <class T>
class Pixels {
 public:
  Pixels(T* data, std::int64_t channels, std::int64_t multiplier)
      : data_(data), channels_(channels), multiplier_(multiplier) {}

  [[nodiscard]] auto operator[](std::int64_t place) const {
    using Table = Eigen::Array<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Map = Eigen::Map<std::conditional_t<std::is_const_v<T>, const Table, Table>>;
    return Map(data_ + place * channels_ * multiplier_, channels_, multiplier_);
  }

 private:
  T* data_;
  std::int64_t channels_;
  std::int64_t multiplier_;
};

template <class T>
Pixels<const T> pixels_in(const KernelContext& context, std::size_t i, const DepthwiseShape& shape,
                          std::int64_t multiplier) {
  return {context.data<T>(i).data(), shape.channels, multiplier};
}

/// `image` for each multiplier.
auto for_each_multiplier(const auto& image, const DepthwiseShape& shape) {
  return image.replicate(1, shape.multiplier);
}

template <class T>
void depthwise_conv2d(KernelContext& context, const WindowAttrs& attrs) {
  const DepthwiseShape shape(context.shape(0), context.shape(1), attrs);
  ArrayMap<T> all = output_array<T>(context, 0, shape.result());
  all.setZero();
  const auto image = pixels_in<T>(context, 0, shape, 1);
  const auto filter = pixels_in<T>(context, 1, shape, shape.multiplier);
  const Pixels<T> result(all.data(), shape.channels, shape.multiplier);
  for_each_block(context, shape.images(), [&](const Block& images) {
    shape.for_each_place(images, [&](std::int64_t to, std::int64_t from, std::int64_t place) {
      result[to] += for_each_multiplier(image[from], shape) * filter[place];
    });
  });
}

template <class T>
void depthwise_backprop_input(KernelContext& context, const WindowAttrs& attrs) {
  const Shape size = shape_in_input(context, 0);
  const DepthwiseShape shape(size, context.shape(1), attrs);
  shape.require_gradient(context.shape(2));
  ArrayMap<T> all = output_array<T>(context, 0, size);
  all.setZero();
  const auto filter = pixels_in<T>(context, 1, shape, shape.multiplier);
  const auto gradient = pixels_in<T>(context, 2, shape, shape.multiplier);
  const Pixels<T> result(all.data(), shape.channels, 1);
  for_each_block(context, shape.images(), [&](const Block& images) {
    shape.for_each_place(images, [&](std::int64_t from, std::int64_t to, std::int64_t place) {
      result[to].col(0) += (gradient[from] * filter[place]).rowwise().sum();
    });
  });
}

template <class T>
void depthwise_backprop_filter(KernelContext& context, const WindowAttrs& attrs) {
  const Shape size = shape_in_input(context, 1);
  const DepthwiseShape shape(context.shape(0), size, attrs);
  shape.require_gradient(context.shape(2));
  ArrayMap<T> all = output_array<T>(context, 0, size);
  all.setZero();
  const auto image = pixels_in<T>(context, 0, shape, 1);
  const auto gradient = pixels_in<T>(context, 2, shape, shape.multiplier);
  const Blocks blocks = shape.images((std::max)(shape.batch / 16, std::int64_t{4}));
  T* const memory = context.scratch<T>(blocks.parts(static_cast<std::size_t>(all.size())));
  sum_over_blocks(context, blocks, all, memory, [&](const Block& images, ArrayMap<T> sum) {
    sum.setZero();
    const Pixels<T> result(sum.data(), shape.channels, shape.multiplier);
    shape.for_each_place(images, [&](std::int64_t from, std::int64_t pixel, std::int64_t place) {
      result[place] += for_each_multiplier(image[pixel], shape) * gradient[from];
    });
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
