// SPDX-License-Identifier: Apache-2.0
/// @file
/// The extents of a convolution, its images with zeros around them, and the gradient of one image, computed in either
/// of two ways.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/gathered_product.hpp>
#include <trainhook/engine/kernels/windows.hpp>

namespace trainhook::kernels::detail {

using namespace trainhook::detail;

/// The extents of a convolution.
struct ConvShape {
  std::int64_t batch;
  Sweep height;
  Sweep width;
  std::int64_t in;   // channels
  std::int64_t out;  // channels

  ConvShape(const Shape& image, const Shape& filter, const WindowAttrs& attrs)
      : batch(checked(image, filter)[0]),
        height(Sweep::over_height(image[1], filter[0], attrs)),
        width(Sweep::over_width(image[2], filter[1], attrs)),
        in(image[3]),
        out(filter[3]) {}

  [[nodiscard]] Shape result() const { return {batch, height.steps, width.steps, out}; }
  [[nodiscard]] bool is_dilated() const noexcept { return height.dilation > 1 || width.dilation > 1; }

  /// Whether one window, with all its places, covers an image: then images, results and their gradients are rows of
  /// matrices.
  [[nodiscard]] bool has_whole_images() const noexcept {
    const auto is_whole = [](const Sweep& sweep) {
      return sweep.steps == 1 && sweep.before == 0 && sweep.dilation == 1 && sweep.size == sweep.extent;
    };
    return is_whole(height) && is_whole(width);
  }
  [[nodiscard]] std::int64_t windows() const noexcept { return height.steps * width.steps; }  // on an image
  [[nodiscard]] std::int64_t image_size() const noexcept { return height.extent * width.extent * in; }
  [[nodiscard]] std::int64_t result_size() const noexcept { return windows() * out; }
  [[nodiscard]] std::int64_t window_size() const noexcept { return height.size * width.size * in; }

  /// The images in blocks of at least `least`.
  [[nodiscard]] Blocks images(std::int64_t least = 1) const noexcept {
    return {batch, cost_of_products(result_size(), window_size()), least};
  }

  /// Whole images, in blocks for which the filter is not read too often.
  [[nodiscard]] Blocks whole_images() const noexcept { return images(24); }

  /// The places of a window in blocks, for products of all images.
  [[nodiscard]] Blocks places() const noexcept { return {window_size(), cost_of_products(out, batch)}; }

  /// The columns of the filter, one for each channel of the result, in blocks for which no tile gets narrower.
  [[nodiscard]] Blocks columns() const noexcept {
    return {out, cost_of_products(batch * windows(), window_size()), 64};
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

/// Zeros in front of and behind the `extent` of an image.
struct Border {
  std::int64_t before;
  std::int64_t extent;
  std::int64_t padded;

  /// For the windows that are partly outside.
  static Border of_image(const Sweep& sweep) {
    return {sweep.before, sweep.extent,
            (std::max)(sweep.before + sweep.extent, (sweep.steps - 1) * sweep.stride + sweep.reach())};
  }

  /// For the pixels that are in fewer windows than others.
  static Border of_gradient(const Sweep& sweep) {
    const std::int64_t before = (sweep.size - 1) / sweep.stride;
    return {before, sweep.steps,
            before + (std::max)(sweep.steps, (sweep.extent - 1 + sweep.before) / sweep.stride + 1)};
  }
};

/// Loads one image after the other with its border into the memory of a worker. Leaves it in place if it needs no
/// border.
template <class T>
class BorderedImage {
 public:
  /// @throws InvalidArgumentError if an image with its borders is too large for memory.
  BorderedImage(const Border& height, const Border& width, std::int64_t channels)
      : height_(height), width_(width), channels_(channels) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    std::int64_t size = 0;
    if (__builtin_mul_overflow(height_.padded, width_.padded, &size) ||
        __builtin_mul_overflow(size, channels_, &size) || size > kMost)
      throw InvalidArgumentError("an image of {} by {} pixels with its borders, which the window needs, is too large",
                                 height_.padded, width_.padded);
  }

  [[nodiscard]] std::int64_t row() const noexcept { return width_.padded * channels_; }
  [[nodiscard]] std::size_t size() const noexcept {
    return is_plain() ? 0 : static_cast<std::size_t>(height_.padded * row());
  }

  /// The same with a copy of images in `memory`, of `size()` elements.
  [[nodiscard]] BorderedImage in(T* memory) const noexcept {
    BorderedImage image = *this;
    image.memory_ = memory;
    std::fill_n(memory, size(), T{0});
    return image;
  }

  const T* load(const T* image) const noexcept {
    if (is_plain()) return image;
    const std::int64_t row_of_image = width_.extent * channels_;
    T* to = memory_ + height_.before * row() + width_.before * channels_;
    for (std::int64_t y = 0; y < height_.extent; ++y, image += row_of_image, to += row())
      std::copy_n(image, row_of_image, to);
    return memory_;
  }

 private:
  [[nodiscard]] bool is_plain() const noexcept {
    return height_.padded == height_.extent && width_.padded == width_.extent;
  }

  Border height_;
  Border width_;
  std::int64_t channels_;
  T* memory_ = nullptr;
};

template <class T>
BorderedImage<T> bordered_image(const ConvShape& shape) {
  return {Border::of_image(shape.height), Border::of_image(shape.width), shape.in};
}

/// What a worker has to compute with: an image at a time, and memory to pack factors in.
template <class T>
struct ConvWorker {
  static std::size_t memory_size(const BorderedImage<T>& image) noexcept { return kPackingSize<T> + image.size(); }

  ConvWorker(const BorderedImage<T>& image_in, T* memory)
      : image(image_in.in(memory + kPackingSize<T>)), packing(memory) {}

  BorderedImage<T> image;
  T* packing;
};

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
