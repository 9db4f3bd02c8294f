// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of pooling over images [batch, height, width, channels], with their gradients.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/engine/kernels/windows.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The windows of a pooling, one after the other: `visit(position, pixel)` for each pixel of each window, both counted over the batch,
/// `enter(position, pixels)` before them.
template <class Enter, class Visit>
void for_each_window(std::int64_t batch, const Sweep& height, const Sweep& width, Enter&& enter, Visit&& visit) {
  std::int64_t position = 0;
  for (std::int64_t image = 0; image < batch; ++image) {
    for (std::int64_t y = 0; y < height.steps; ++y) {
      for (std::int64_t x = 0; x < width.steps; ++x, ++position) {
        enter(position, (height.last(y) - height.first(y)) * (width.last(x) - width.first(x)));
        for (std::int64_t ky = height.first(y); ky < height.last(y); ++ky) {
          const std::int64_t row = (image * height.extent + height.start(y) + ky) * width.extent + width.start(x);
          for (std::int64_t kx = width.first(x); kx < width.last(x); ++kx) visit(position, row + kx);
        }
      }
    }
  }
}

/// A pooling of images of some shape.
struct Pooling {
  std::int64_t batch;
  Sweep height;
  Sweep width;
  std::int64_t channels;

  Pooling(const Shape& image, const std::array<std::int64_t, 2>& size, const WindowAttrs& attrs)
      : batch(checked(image)[0]),
        height(image[1], size[0], attrs.stride_height, attrs.same),
        width(image[2], size[1], attrs.stride_width, attrs.same),
        channels(image[3]) {}

  [[nodiscard]] Shape result() const { return {batch, height.steps, width.steps, channels}; }

 private:
  static const Shape& checked(const Shape& image) {
    if (image.rank() != 4) throw InvalidArgumentError("the image must be of rank 4");
    return image;
  }
};

template <class T>
void max_pool(KernelContext& context, const Pooling& pool) {
  const T* image = context.data<T>(0).data();
  T* result = context.output<T>(0, pool.result()).data();
  const std::int64_t channels = pool.channels;
  bool is_first = false;
  for_each_window(
      pool.batch, pool.height, pool.width, [&](std::int64_t, std::int64_t) { is_first = true; },
      [&](std::int64_t position, std::int64_t pixel) {
        T* const to = result + position * channels;
        const T* const from = image + pixel * channels;
        for (std::int64_t c = 0; c < channels; ++c) to[c] = is_first || to[c] < from[c] ? from[c] : to[c];
        is_first = false;
      });
}

/// The gradient goes to the first of the largest pixels of each window.
template <class T>
void max_pool_grad(KernelContext& context, const Pooling& pool) {
  if (context.shape(1) != pool.result() || context.shape(2) != pool.result()) {
    throw InvalidArgumentError("the result and its gradient must be of shape ", pool.result());
  }
  const T* image = context.data<T>(0).data();
  const T* largest = context.data<T>(1).data();
  const T* gradient = context.data<T>(2).data();
  const std::span<T> result = context.output<T>(0, context.shape(0));
  std::ranges::fill(result, T{0});
  const std::int64_t channels = pool.channels;
  T* const left = reinterpret_cast<T*>(context.scratch(static_cast<std::size_t>(channels) * sizeof(T)));  // what no pixel got so far
  for_each_window(
      pool.batch, pool.height, pool.width,
      [&](std::int64_t position, std::int64_t) { std::copy_n(gradient + position * channels, channels, left); },
      [&](std::int64_t position, std::int64_t pixel) {
        const T* const from = image + pixel * channels;
        const T* const top = largest + position * channels;
        T* const __restrict to = result.data() + pixel * channels;
        T* const __restrict rest = left;
        for (std::int64_t c = 0; c < channels; ++c) {  // without branches, so that it is vectorized
          const bool is_largest = from[c] == top[c];
          to[c] += is_largest ? rest[c] : T{0};
          rest[c] = is_largest ? T{0} : rest[c];
        }
      });
}

template <class T>
void avg_pool(KernelContext& context, const Pooling& pool) {
  const T* image = context.data<T>(0).data();
  const std::span<T> result = context.output<T>(0, pool.result());
  std::ranges::fill(result, T{0});
  const std::int64_t channels = pool.channels;
  T share = 0;
  for_each_window(
      pool.batch, pool.height, pool.width, [&](std::int64_t, std::int64_t pixels) { share = T{1} / static_cast<T>(pixels); },
      [&](std::int64_t position, std::int64_t pixel) {
        T* const to = result.data() + position * channels;
        for (std::int64_t c = 0; c < channels; ++c) to[c] += image[pixel * channels + c] * share;
      });
}

template <class T>
void avg_pool_grad(KernelContext& context, const Pooling& pool, const Shape& image) {
  if (context.shape(1) != pool.result()) throw InvalidArgumentError("the gradient must be of shape ", pool.result());
  const T* gradient = context.data<T>(1).data();
  const std::span<T> result = context.output<T>(0, image);
  std::ranges::fill(result, T{0});
  const std::int64_t channels = pool.channels;
  T share = 0;
  for_each_window(
      pool.batch, pool.height, pool.width, [&](std::int64_t, std::int64_t pixels) { share = T{1} / static_cast<T>(pixels); },
      [&](std::int64_t position, std::int64_t pixel) {
        T* const to = result.data() + pixel * channels;
        for (std::int64_t c = 0; c < channels; ++c) to[c] += gradient[position * channels + c] * share;
      });
}

template <template <class> class Code>
Kernel make_pool(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", [attrs = window_attrs(node), size = window_attr(node, "ksize")]<class T>() {
    return Kernel([=](KernelContext& context) { Code<T>::run(context, size, attrs); });
  });
}
using Window = std::array<std::int64_t, 2>;
template <class T>
struct MaxPool {
  static void run(KernelContext& c, const Window& size, const WindowAttrs& attrs) { max_pool<T>(c, Pooling(c.shape(0), size, attrs)); }
};
template <class T>
struct MaxPoolGrad {
  static void run(KernelContext& c, const Window& size, const WindowAttrs& attrs) { max_pool_grad<T>(c, Pooling(c.shape(0), size, attrs)); }
};
template <class T>
struct AvgPool {
  static void run(KernelContext& c, const Window& size, const WindowAttrs& attrs) { avg_pool<T>(c, Pooling(c.shape(0), size, attrs)); }
};
template <class T>
struct AvgPoolGrad {
  static void run(KernelContext& c, const Window& size, const WindowAttrs& attrs) {
    const Shape image = shape_in_input(c, 0);
    avg_pool_grad<T>(c, Pooling(image, size, attrs), image);
  }
};

inline constexpr std::array kPool{
    KernelDef{.type = "MaxPool", .make = make_pool<MaxPool>},
    KernelDef{.type = "MaxPoolGrad", .make = make_pool<MaxPoolGrad>},
    KernelDef{.type = "AvgPool", .make = make_pool<AvgPool>},
    KernelDef{.type = "AvgPoolGrad", .make = make_pool<AvgPoolGrad>},
};

}  // namespace detail

[[nodiscard]] constexpr KernelGroup pool() noexcept { return detail::kPool; }

}  // namespace trainhook::kernels
