// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of pooling over images [batch, height, width, channels], with their gradients.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/vectors.hpp>
#include <trainhook/engine/kernels/windows.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// N vectors of `Size` elements, adjacent in memory and kept in registers: a loop over a window costs less for several
/// vectors at once.
template <class V, std::size_t Size, std::size_t N>
struct Lanes {
  using Vector = V;
  V at[N]{};

  /// Calls `code` with the constants 0 to N - 1.
  template <class Code>
  [[gnu::always_inline]] static void each(Code&& code) {
    unrolled<N>(code);
  }
  template <class T>
  [[gnu::always_inline]] static Lanes loaded(const T* from) {
    Lanes lanes;
    each([&](auto i) { lanes.at[i] = load<V>(from + i * Size); });
    return lanes;
  }
  template <class T>
  [[gnu::always_inline]] void store_to(T* to) const {
    each([&](auto i) { store(at[i], to + i * Size); });
  }
};

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

  /// Whether each pixel is in exactly one window.
  [[nodiscard]] bool is_partition() const noexcept {
    const auto holds = [](const Sweep& sweep) {
      return sweep.stride == sweep.size && sweep.steps * sweep.size >= sweep.extent;
    };
    return holds(height) && holds(width);
  }

  /// Calls `code(zero, at, window)` for each window and each group of its channels. `zero` holds lanes to compute in,
  /// `at` is their offset in the result, and `window(visit)` calls `visit` for each pixel with their offset in the
  /// images. Several images are done at the same time.
  template <class T, class Code>
  void for_each_window(const KernelContext& context, const Code& code) const {
    constexpr std::int64_t kPerCost = 4;
    const std::int64_t places = (std::min)(height.size * width.size, kPerCost * kBlockCost);
    for_each_block(context, {batch, position_of(1) / kPerCost * places},
                   [&](const Block& images) { for_each_window_of<T>(images, code); });
  }

 private:
  /// The offset of an image in the result.
  [[nodiscard]] std::int64_t position_of(std::int64_t image) const noexcept {
    return image * height.steps * width.steps * channels;
  }

  template <class T, class Code>
  void for_each_window_of(const Block& images, const Code& code) const {
    using Vector = typename VectorOf<T, kVectorSize<T>>::type;
    constexpr std::int64_t kSize = kVectorSize<T>;
    const std::int64_t line = width.extent * channels;
    std::int64_t position = position_of(images.begin);
    for (std::int64_t image = images.begin; image < images.end; ++image) {
      for (std::int64_t y = 0; y < height.steps; ++y) {
        const std::int64_t top = image * height.extent + height.start(y) + height.first(y);
        const std::int64_t rows = height.last(y) - height.first(y);
        for (std::int64_t x = 0; x < width.steps; ++x, position += channels) {
          const std::int64_t first = top * line + (width.start(x) + width.first(x)) * channels;
          const std::int64_t row_length = (width.last(x) - width.first(x)) * channels;
          std::int64_t c = 0;
          const auto window = [&](auto&& visit) {
            std::int64_t row = first + c;
            for (std::int64_t ky = 0; ky < rows; ++ky, row += line) {
              for (std::int64_t pixel = row; pixel < row + row_length; pixel += channels) visit(pixel);
            }
          };
          for (; c + 4 * kSize <= channels; c += 4 * kSize)
            code(Lanes<Vector, kVectorSize<T>, 4>(), position + c, window);
          for (; c + kSize <= channels; c += kSize) code(Lanes<Vector, kVectorSize<T>, 1>(), position + c, window);
          for (; c < channels; ++c) code(Lanes<T, 1, 1>(), position + c, window);
        }
      }
    }
  }

  static const Shape& checked(const Shape& image) {
    if (image.rank() != 4) throw InvalidArgumentError("the image must be of rank 4");
    return image;
  }
};

/// As in TensorFlow, NaN and minus infinity are smaller than any number: a window with nothing else gives the lowest
/// number.
template <class T>
void max_pool(KernelContext& context, const Pooling& pool) {
  const T* image = context.data<T>(0).data();
  T* result = context.output<T>(0, pool.result()).data();
  pool.for_each_window<T>(context, [&](auto largest, std::int64_t at, auto&& window) {
    largest.each([&](auto i) { largest.at[i] += std::numeric_limits<T>::lowest(); });
    window([&](std::int64_t pixel) {
      const auto values = largest.loaded(image + pixel);
      largest.each([&](auto i) { largest.at[i] = largest.at[i] < values.at[i] ? values.at[i] : largest.at[i]; });
    });
    largest.store_to(result + at);
  });
}

/// The gradient goes to the first of the largest pixels of each window. As in TensorFlow, the first pixel gets it if it
/// is NaN, or if the window holds no number that is larger than minus infinity.
template <class T>
void max_pool_grad(KernelContext& context, const Pooling& pool) {
  if (context.shape(1) != pool.result() || context.shape(2) != pool.result()) {
    throw InvalidArgumentError("the result and its gradient must be of shape {}", pool.result());
  }
  const T* image = context.data<T>(0).data();
  const T* largest = context.data<T>(1).data();
  const T* gradient = context.data<T>(2).data();
  const std::span<T> result = context.output<T>(0, context.shape(0));
  const bool adds = !pool.is_partition();
  if (adds) std::ranges::fill(result, T{0});
  pool.for_each_window<T>(context, [&](auto zeros, std::int64_t at, auto&& window) {
    const typename decltype(zeros)::Vector zero{};
    const auto lowest = zero + std::numeric_limits<T>::lowest();
    const auto top = zeros.loaded(largest + at);
    auto rest = zeros.loaded(gradient + at);  // the gradient that no pixel got so far
    bool is_first = true;
    window([&](std::int64_t pixel) {
      __builtin_prefetch(image + pixel + 8 * pool.channels);  // processors do not foresee how windows move
      const auto values = zeros.loaded(image + pixel);
      auto sums = adds ? zeros.loaded(result.data() + pixel) : zeros;
      zeros.each([&](auto i) {
        const auto value = values.at[i];
        const auto most = top.at[i];
        auto is_largest = value == most;
        // NOLINTNEXTLINE(misc-redundant-expression): true for NaN
        if (is_first) is_largest = is_largest | (value != value) | ((value < lowest) & (most == lowest));
        sums.at[i] += is_largest ? rest.at[i] : zero;
        rest.at[i] = is_largest ? zero : rest.at[i];
      });
      sums.store_to(result.data() + pixel);
      is_first = false;
    });
  });
}

template <class T>
void avg_pool(KernelContext& context, const Pooling& pool) {
  const T* image = context.data<T>(0).data();
  T* result = context.output<T>(0, pool.result()).data();
  pool.for_each_window<T>(context, [&](auto sum, std::int64_t at, auto&& window) {
    T pixels = 0;
    window([&](std::int64_t pixel) {
      const auto values = sum.loaded(image + pixel);
      sum.each([&](auto i) { sum.at[i] += values.at[i]; });
      ++pixels;
    });
    sum.each([&](auto i) { sum.at[i] /= pixels; });
    sum.store_to(result + at);
  });
}

template <class T>
void avg_pool_grad(KernelContext& context, const Pooling& pool, const Shape& image) {
  if (context.shape(1) != pool.result()) throw InvalidArgumentError("the gradient must be of shape {}", pool.result());
  const T* gradient = context.data<T>(1).data();
  const std::span<T> result = context.output<T>(0, image);
  const bool adds = !pool.is_partition();
  if (adds) std::ranges::fill(result, T{0});
  pool.for_each_window<T>(context, [&](auto zeros, std::int64_t at, auto&& window) {
    T pixels = 0;
    window([&](std::int64_t) { ++pixels; });
    auto share = zeros.loaded(gradient + at);
    share.each([&](auto i) { share.at[i] /= pixels; });
    window([&](std::int64_t pixel) {
      auto sums = adds ? zeros.loaded(result.data() + pixel) : zeros;
      sums.each([&](auto i) { sums.at[i] += share.at[i]; });
      sums.store_to(result.data() + pixel);
    });
  });
}

/// The kernel that calls `code.operator()<T>(context, f)`, where f makes a Pooling from an image's shape.
template <class Code>
Kernel make_pool(const Node& node, Code code) {
  return kernel_for(
      FloatingTypes{}, node, "T", [attrs = window_attrs(node), size = window_attr(node, "ksize"), code]<class T>() {
        return Kernel([=](KernelContext& context) {
          code.template operator()<T>(context, [&](const Shape& image) { return Pooling(image, size, attrs); });
        });
      });
}
inline Kernel make_max_pool(const Node& node) {
  return make_pool(node, []<class T>(KernelContext& context, const auto& pooling) {
    max_pool<T>(context, pooling(context.shape(0)));
  });
}
inline Kernel make_max_pool_grad(const Node& node) {
  return make_pool(node, []<class T>(KernelContext& context, const auto& pooling) {
    max_pool_grad<T>(context, pooling(context.shape(0)));
  });
}
inline Kernel make_avg_pool(const Node& node) {
  return make_pool(node, []<class T>(KernelContext& context, const auto& pooling) {
    avg_pool<T>(context, pooling(context.shape(0)));
  });
}
inline Kernel make_avg_pool_grad(const Node& node) {
  return make_pool(node, []<class T>(KernelContext& context, const auto& pooling) {
    const Shape image = shape_in_input(context, 0);
    avg_pool_grad<T>(context, pooling(image), image);
  });
}

inline constexpr std::array kPool{
    KernelDef{.type = "MaxPool", .make = make_max_pool},
    KernelDef{.type = "MaxPoolGrad", .make = make_max_pool_grad},
    KernelDef{.type = "AvgPool", .make = make_avg_pool},
    KernelDef{.type = "AvgPoolGrad", .make = make_avg_pool_grad},
};

}  // namespace detail

KernelGroup pool() noexcept { return detail::kPool; }

}  // namespace trainhook::kernels
