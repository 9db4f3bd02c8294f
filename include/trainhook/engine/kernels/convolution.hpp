// SPDX-License-Identifier: Apache-2.0
/// @file
/// The extents of a convolution, and its images with zeros around them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/gathered_product.hpp>
#include <trainhook/engine/kernels/windows.hpp>

namespace trainhook::kernels {
namespace detail {

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

}  // namespace detail
}  // namespace trainhook::kernels
