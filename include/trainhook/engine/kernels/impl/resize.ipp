// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that resize images, with their gradients.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// Maps pixels of the result to pixels of the image along one dimension; in float32, as in TensorFlow.
struct Scale {
  std::int64_t extent;  // of the image
  float factor;
  bool align_corners;
  bool half_pixel_centers;

  Scale(std::int64_t extent_in, std::int64_t result, const Node& node)
      : extent(extent_in),
        align_corners(node.attr<bool>("align_corners")),
        half_pixel_centers(node.attr<bool>("half_pixel_centers")) {
    const bool to_corners = align_corners && result > 1;
    factor = to_corners ? static_cast<float>(extent - 1) / static_cast<float>(result - 1)
                        : static_cast<float>(extent) / static_cast<float>(result);
  }

  /// The pixel nearest to pixel `i` of the result.
  [[nodiscard]] std::int64_t nearest(std::int64_t i) const {
    const float at = (static_cast<float>(i) + (half_pixel_centers ? 0.5F : 0.0F)) * factor;
    const auto pixel = static_cast<std::int64_t>(align_corners ? (std::round)(at) : std::floor(at));
    return (std::min)(pixel, extent - 1);
  }

  /// Two pixels, and the weight of the upper one.
  struct Between {
    std::int64_t lower;
    std::int64_t upper;
    float weight;
  };
  [[nodiscard]] Between between(std::int64_t i) const {
    const float at =
        half_pixel_centers ? (static_cast<float>(i) + 0.5F) * factor - 0.5F : static_cast<float>(i) * factor;
    const float below = std::floor(at);
    return {(std::max)(static_cast<std::int64_t>(below), std::int64_t{0}),
            (std::min)(static_cast<std::int64_t>(std::ceil(at)), extent - 1), at - below};
  }
};

/// Images that are read or written, as rows of channels.
struct Images {
  Shape shape;
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;

  explicit Images(const Shape& of) : shape(of) {
    if (shape.rank() != 4) throw InvalidArgumentError("images must be of rank 4, not {}", shape);
    height = shape[1];
    width = shape[2];
    channels = shape[3];
  }
  Images(const Shape& of, const Tensor& size) : Images(of) {
    if (size.shape() != Shape{2}) throw InvalidArgumentError("size must hold a height and a width");
    height = size.data<std::int32_t>()[0];
    width = size.data<std::int32_t>()[1];
    if (height <= 0 || width <= 0) throw InvalidArgumentError("size {} x {} must be positive", height, width);
    shape = Shape{of[0], height, width, channels};
  }

  template <class T>
  [[nodiscard]] auto pixel(T* data, std::int64_t image, std::int64_t y, std::int64_t x) const {
    using Array = Eigen::Array<std::remove_const_t<T>, Eigen::Dynamic, 1>;
    using Map = Eigen::Map<std::conditional_t<std::is_const_v<T>, const Array, Array>>;
    return Map(data + ((image * height + y) * width + x) * channels, channels);
  }

  /// @throws InvalidArgumentError if `result` has pixels but these images have none.
  void require_pixels_for(const Images& result) const {
    if (result.shape.num_elements() > 0 && shape.num_elements() == 0)
      throw InvalidArgumentError("images of shape {} have no pixels to resize", shape);
  }
};

/// Calls `code(image, y, row, columns)` for each line of `large`; row is `of(height, y)`, columns[x] is `of(width, x)`.
/// The session's threads share the images.
template <class Of, class Code>
void for_each_line(const KernelContext& context, const Images& large, const Scale& height, const Scale& width, Of of,
                   const Code& code) {
  using Place = decltype(of(width, 0));
  Place* const columns = context.scratch<Place>(static_cast<std::size_t>(large.width));
  for (std::int64_t x = 0; x < large.width; ++x) columns[x] = of(width, x);
  for_each_block(context, {large.shape[0], product_of(large.shape, 1, 4)}, [&](const Block& block) {
    for (std::int64_t image = block.begin; image < block.end; ++image) {
      for (std::int64_t y = 0; y < large.height; ++y) code(image, y, of(height, y), columns);
    }
  });
}

/// Calls `code(image, y, x, row, columns[x])` for each pixel of `large`.
template <class Of, class Code>
void for_each_pixel(const KernelContext& context, const Images& large, const Scale& height, const Scale& width, Of of,
                    const Code& code) {
  for_each_line(context, large, height, width, of,
                [&](std::int64_t image, std::int64_t y, const auto& row, const auto* columns) {
                  for (std::int64_t x = 0; x < large.width; ++x) code(image, y, x, row, columns[x]);
                });
}
inline std::int64_t nearest_of(const Scale& scale, std::int64_t i) { return scale.nearest(i); }
inline Scale::Between between_of(const Scale& scale, std::int64_t i) { return scale.between(i); }

template <class T>
void resize_nearest(KernelContext& context) {
  const Images from(context.shape(0));
  const Images to(context.shape(0), context.input(1));
  from.require_pixels_for(to);
  T* const out = context.output<T>(0, to.shape).data();
  const T* const in = context.data<T>(0).data();
  for_each_pixel(context, to, Scale(from.height, to.height, context.node()),
                 Scale(from.width, to.width, context.node()), nearest_of,
                 [&](std::int64_t image, std::int64_t y, std::int64_t x, std::int64_t row, std::int64_t column) {
                   to.pixel(out, image, y, x) = from.pixel(in, image, row, column);
                 });
}

/// Adds the gradient of each pixel to the pixel from which it was copied.
template <class T>
void resize_nearest_grad(KernelContext& context) {
  const Images from(context.shape(0));
  const Images to(context.shape(0), context.input(1));
  ArrayMap<T> out = output_array<T>(context, 0, to.shape);
  out.setZero();
  const T* const in = context.data<T>(0).data();
  for_each_pixel(context, from, Scale(to.height, from.height, context.node()),
                 Scale(to.width, from.width, context.node()), nearest_of,
                 [&](std::int64_t image, std::int64_t y, std::int64_t x, std::int64_t row, std::int64_t column) {
                   to.pixel(out.data(), image, row, column) += from.pixel(in, image, y, x);
                 });
}

/// A line of pixels between two lines of `channels` each.
template <class T>
void resize_line(float* result, const T* upper, const T* lower, float lower_weight, const Scale::Between* columns,
                 std::int64_t width, std::int64_t channels) {
  for (std::int64_t x = 0; x < width; ++x, result += channels) {
    const std::int64_t left = columns[x].lower * channels;
    const std::int64_t right = columns[x].upper * channels;
    const auto mean = [=, upper_weight = 1 - lower_weight, left_weight = 1 - columns[x].weight,
                       right_weight = columns[x].weight](const auto& a, const auto& b, const auto& c, const auto& d) {
      return (a * left_weight + b * right_weight) * upper_weight + (c * left_weight + d * right_weight) * lower_weight;
    };
    if constexpr (std::is_same_v<T, float>) {
      compute(result, channels, mean, upper + left, upper + right, lower + left, lower + right);
    } else {
      const auto at = [](const T* line, std::int64_t i) { return static_cast<float>(line[i]); };
      for (std::int64_t i = 0; i < channels; ++i)
        result[i] = mean(at(upper, left + i), at(upper, right + i), at(lower, left + i), at(lower, right + i));
    }
  }
}

template <class T>
void resize_bilinear(KernelContext& context) {
  const Images from(context.shape(0));
  const Images to(context.shape(0), context.input(1));
  from.require_pixels_for(to);
  float* const out = context.output<float>(0, to.shape).data();
  const T* const in = context.data<T>(0).data();
  for_each_line(context, to, Scale(from.height, to.height, context.node()), Scale(from.width, to.width, context.node()),
                between_of,
                [&](std::int64_t image, std::int64_t y, const Scale::Between& row, const Scale::Between* columns) {
                  resize_line(to.pixel(out, image, y, 0).data(), from.pixel(in, image, row.lower, 0).data(),
                              from.pixel(in, image, row.upper, 0).data(), row.weight, columns, to.width, to.channels);
                });
}

template <class T>
void resize_bilinear_grad(KernelContext& context) {
  const Images from(context.shape(0));
  const Images to(context.shape(1));
  ArrayMap<T> out = output_array<T>(context, 0, to.shape);
  out.setZero();
  if (out.size() == 0) return;
  const float* const in = context.data<float>(0).data();
  for_each_pixel(
      context, from, Scale(to.height, from.height, context.node()), Scale(to.width, from.width, context.node()),
      between_of,
      [&](std::int64_t image, std::int64_t y, std::int64_t x, const Scale::Between& row, const Scale::Between& column) {
        const auto give = [&](std::int64_t line, std::int64_t place, float weight) {
          to.pixel(out.data(), image, line, place) += (from.pixel(in, image, y, x) * weight).template cast<T>();
        };
        give(row.lower, column.lower, (1 - row.weight) * (1 - column.weight));
        give(row.lower, column.upper, (1 - row.weight) * column.weight);
        give(row.upper, column.lower, row.weight * (1 - column.weight));
        give(row.upper, column.upper, row.weight * column.weight);
      });
}

using PixelTypes = DTypes<float, double, std::int32_t, std::int64_t, std::uint8_t>;

inline Kernel make_resize_nearest(const Node& node) {
  return kernel_for(PixelTypes{}, node, "T", []<class T>() { return Kernel(resize_nearest<T>); });
}
inline Kernel make_resize_nearest_grad(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(resize_nearest_grad<T>); });
}
inline Kernel make_resize_bilinear(const Node& node) {
  return kernel_for(PixelTypes{}, node, "T", []<class T>() { return Kernel(resize_bilinear<T>); });
}
inline Kernel make_resize_bilinear_grad(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(resize_bilinear_grad<T>); });
}

inline constexpr std::array kResize{
    KernelDef{.type = "ResizeBilinear", .make = make_resize_bilinear},
    KernelDef{.type = "ResizeBilinearGrad", .make = make_resize_bilinear_grad},
    KernelDef{.type = "ResizeNearestNeighbor", .make = make_resize_nearest},
    KernelDef{.type = "ResizeNearestNeighborGrad", .make = make_resize_nearest_grad},
};

}  // namespace detail

KernelGroup resize() noexcept { return detail::kResize; }

}  // namespace trainhook::kernels
