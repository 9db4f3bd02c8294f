// SPDX-License-Identifier: Apache-2.0
/// @file
/// The gradient of one image of a convolution, computed in either of two ways.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include <trainhook/engine/kernels/convolution.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/gathered_product.hpp>
#include <trainhook/engine/kernels/windows.hpp>

namespace trainhook::kernels::detail {

/// Every `stride`-th pixel along one dimension, and the places of the window that meet them: also every `stride`-th.
struct Phase {
  std::int64_t place;   // the first one
  std::int64_t places;  // at least 1
  std::int64_t pixel;   // the first one
  std::int64_t pixels;
  std::int64_t first;  // position, counted in the bordered gradient, of the first window over the first pixel

  Phase(const Sweep& sweep, std::int64_t phase)
      : place(phase),
        places((sweep.size - phase + sweep.stride - 1) / sweep.stride),
        pixel(((phase - sweep.before) % sweep.stride + sweep.stride) % sweep.stride),
        pixels((std::max)(std::int64_t{0}, (sweep.extent - pixel + sweep.stride - 1) / sweep.stride)),
        first((pixel + sweep.before - phase) / sweep.stride - (places - 1) + Border::of_gradient(sweep).before) {}

  static std::int64_t count(const Sweep& sweep) { return (std::min)(sweep.stride, sweep.size); }
};

/// Writes the filter's places of one phase, last first, each with its channels transposed: [height, width, out, in].
template <class T>
T* write_turned_filter(const T* filter, T* to, const ConvShape& shape, const Phase& height, const Phase& width) {
  for (std::int64_t y = height.places; y-- > 0;) {
    for (std::int64_t x = width.places; x-- > 0;) {
      const std::int64_t at =
          (height.place + y * shape.height.stride) * shape.width.size + width.place + x * shape.width.stride;
      transpose(filter + at * shape.in * shape.out, shape.in, shape.out, shape.out, to);
      to += shape.in * shape.out;
    }
  }
  return to;
}

/// How many windows `backprop_input_by_windows` takes at once: as many as fit the cache, or one.
inline std::int64_t windows_at_once(const ConvShape& shape) noexcept {
  constexpr std::int64_t kPlaces = std::int64_t{1} << 16;
  return std::clamp(kPlaces / (std::max)(shape.window_size(), std::int64_t{1}), std::int64_t{1}, shape.windows());
}

/// Adds the places of one window to the pixels of the image below it.
template <class T>
void add_window(const ConvShape& shape, std::int64_t window, const T* places, T* image) {
  const std::int64_t row = window / shape.width.steps;
  const std::int64_t column = window % shape.width.steps;
  const Sweep& height = shape.height;
  const Sweep& width = shape.width;
  const std::int64_t first = width.first(column);
  const std::int64_t last = width.last(column);
  const std::int64_t in_a_run = width.dilation == 1 ? last - first : 1;  // whose pixels are contiguous
  for (std::int64_t y = height.first(row); y < height.last(row); ++y) {
    for (std::int64_t x = first; x < last; x += in_a_run) {
      const std::int64_t pixel =
          (height.start(row) + y * height.dilation) * width.extent + width.start(column) + x * width.dilation;
      ArrayMap<T>(image + pixel * shape.in, in_a_run * shape.in) +=
          ConstArrayMap<T>(places + (y * width.size + x) * shape.in, in_a_run * shape.in);
    }
  }
}

/// The gradient of one image: that of each window, a product with the transposed filter, added to its pixels. `places`
/// has room for `windows_at_once`.
template <class T>
void backprop_input_by_windows(const ConvShape& shape, const T* filter, const T* gradient, T* places, T* packing,
                               T* result) {
  std::fill_n(result, shape.image_size(), T{0});
  const std::int64_t window = shape.window_size();
  const std::int64_t at_once = windows_at_once(shape);
  for (std::int64_t first = 0; first < shape.windows(); first += at_once) {
    const std::int64_t windows = (std::min)(at_once, shape.windows() - first);
    multiply_gathered<T>({.a = gradient + first * shape.out,
                          .rows = {1, windows, 0, shape.out},
                          .inner = {1, shape.out, 0, 1},
                          .b = filter,
                          .b_stride = window,
                          .columns = window,
                          .result = places,
                          .result_rows = {1, windows, 0, window},
                          .packing = packing});
    for (std::int64_t i = 0; i < windows; ++i) add_window(shape, first + i, places + i * window, result);
  }
}

/// Calls `code(height, width)` for the phases of an image's pixels.
template <class Code>
void for_each_phase(const ConvShape& shape, const Code& code) {
  for (std::int64_t y = 0; y < Phase::count(shape.height); ++y) {
    for (std::int64_t x = 0; x < Phase::count(shape.width); ++x) code(Phase(shape.height, y), Phase(shape.width, x));
  }
}

/// The gradient of one image from that of its result and the turned filter.
template <class T>
void backprop_input_by_phases(const ConvShape& shape, const T* filter, const T* gradient, const ConvWorker<T>& worker,
                              T* result) {
  const T* const from = worker.image.load(gradient);
  const std::int64_t row = worker.image.row();
  const std::int64_t row_of_image = shape.width.extent * shape.in;
  for_each_phase(shape, [&](const Phase& height, const Phase& width) {
    const Lattice inner{height.places, width.places * shape.out, row, 1};
    multiply_gathered<T>({.a = from + height.first * row + width.first * shape.out,
                          .rows = {height.pixels, width.pixels, row, shape.out},
                          .inner = inner,
                          .b = filter,
                          .b_stride = shape.in,
                          .columns = shape.in,
                          .result = result + height.pixel * row_of_image + width.pixel * shape.in,
                          .result_rows = {height.pixels, width.pixels, shape.height.stride * row_of_image,
                                          shape.width.stride * shape.in},
                          .packing = worker.packing});
    filter += inner.size() * shape.in;
  });
}

/// Whether the gradient is computed window by window. With phases, zeros stand around the gradient of the result, and
/// are multiplied: much in vain if windows are nearly as large as the image, and wrong with a filter that is not
/// finite.
template <class T>
bool is_by_windows(const ConvShape& shape, const BorderedImage<T>& bordered, std::span<const T> filter) {
  if (shape.is_dilated()) return true;
  const double of_windows = static_cast<double>(shape.windows());
  const double of_phases = static_cast<double>(shape.height.extent * shape.width.extent) /
                           static_cast<double>(shape.height.stride * shape.width.stride);
  if (of_phases > 2 * of_windows) return true;
  return bordered.size() > 0 && !std::ranges::all_of(filter, [](T value) { return std::isfinite(value); });
}

}  // namespace trainhook::kernels::detail
