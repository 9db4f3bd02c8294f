// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of convolution over images [batch, height, width, channels], with its gradients.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

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
  [[nodiscard]] std::int64_t image_size() const noexcept { return height.extent * width.extent * in; }
  [[nodiscard]] std::int64_t result_size() const noexcept { return height.steps * width.steps * out; }

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

/// Loads one image after the other with its border into the caller's memory. Leaves it in place if it needs no border.
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
  void use(T* memory) noexcept { std::fill_n(memory_ = memory, size(), T{0}); }

  const T* load(const T* image) noexcept {
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

/// Calls `code(window)` for the parts of the windows whose places are contiguous: the whole window, or each of its
/// places if the windows are dilated.
struct WindowPart {
  std::int64_t height;
  std::int64_t width;
  std::int64_t in_image;   // the offset of its first place in a row-major image of `row` elements a row
  std::int64_t in_filter;  // the first row of the filter, of which there are height * width * in
};
template <class Code>
void for_each_part(const ConvShape& shape, std::int64_t row, const Code& code) {
  if (!shape.is_dilated()) return code(WindowPart{shape.height.size, shape.width.size, 0, 0});
  for (std::int64_t y = 0; y < shape.height.size; ++y) {
    for (std::int64_t x = 0; x < shape.width.size; ++x) {
      code(WindowPart{1, 1, y * shape.height.dilation * row + x * shape.width.dilation * shape.in,
                      (y * shape.width.size + x) * shape.in});
    }
  }
}

template <class T>
void conv2d(KernelContext& context, const WindowAttrs& attrs) {
  const ConvShape shape(context.shape(0), context.shape(1), attrs);
  const std::span<T> result = context.output<T>(0, shape.result());
  if (result.empty()) return;
  auto bordered = bordered_image<T>(shape);
  T* const packing = context.scratch<T>(kPackingSize<T> + bordered.size());
  bordered.use(packing + kPackingSize<T>);
  const Sweep& height = shape.height;
  const Sweep& width = shape.width;
  const T* image = context.data<T>(0).data();
  T* to = result.data();
  for (std::int64_t i = 0; i < shape.batch; ++i, image += shape.image_size(), to += shape.result_size()) {
    const T* const from = bordered.load(image);
    for_each_part(shape, bordered.row(), [&](const WindowPart& part) {
      multiply_gathered<T>(
          {.a = from + part.in_image,
           .rows = {height.steps, width.steps, height.stride * bordered.row(), width.stride * shape.in},
           .inner = {part.height, part.width * shape.in, bordered.row(), 1},
           .b = context.data<T>(1).data() + part.in_filter * shape.out,
           .b_stride = shape.out,
           .columns = shape.out,
           .result = to,
           .result_rows = {1, height.steps * width.steps, 0, shape.out},
           .adds = part.in_filter > 0,
           .packing = packing});
    });
  }
}

inline void require_gradient(const ConvShape& shape, const Shape& gradient) {
  if (gradient != shape.result())
    throw InvalidArgumentError("the gradient has shape {}, the result {}", gradient, shape.result());
}

template <class T>
void conv2d_backprop_filter(KernelContext& context, const WindowAttrs& attrs) {
  const Shape filter = shape_in_input(context, 1);
  const ConvShape shape(context.shape(0), filter, attrs);
  require_gradient(shape, context.shape(2));
  const std::span<T> result = context.output<T>(0, filter);
  if (context.data<T>(2).empty()) std::ranges::fill(result, T{0});
  if (context.data<T>(2).empty() || result.empty()) return;
  auto bordered = bordered_image<T>(shape);
  T* const packing = context.scratch<T>(kPackingSize<T> + bordered.size());
  bordered.use(packing + kPackingSize<T>);
  const Sweep& height = shape.height;
  const Sweep& width = shape.width;
  const T* image = context.data<T>(0).data();
  const T* gradient = context.data<T>(2).data();
  for (std::int64_t i = 0; i < shape.batch; ++i, image += shape.image_size(), gradient += shape.result_size()) {
    const T* const from = bordered.load(image);
    for_each_part(shape, bordered.row(), [&](const WindowPart& part) {
      multiply_gathered<T>(
          {.a = from + part.in_image,
           .rows = {part.height, part.width * shape.in, bordered.row(), 1},
           .inner = {height.steps, width.steps, height.stride * bordered.row(), width.stride * shape.in},
           .b = gradient,
           .b_stride = shape.out,
           .columns = shape.out,
           .result = result.data() + part.in_filter * shape.out,
           .result_rows = {1, part.height * part.width * shape.in, 0, shape.out},
           .adds = i > 0,
           .packing = packing});
    });
  }
}

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

/// Uses plain loops over windows and their pixels. Needed for dilated windows, and for a filter that is not finite,
/// which would turn the zeros around the gradient into NaN.
template <class T>
void backprop_input_by_windows(const ConvShape& shape, const T* filter, const T* gradient, T* result) {
  std::fill_n(result, shape.batch * shape.image_size(), T{0});
  const auto for_each_place = [](const Sweep& sweep, auto&& code) {
    for (std::int64_t step = 0; step < sweep.steps; ++step) {
      for (std::int64_t at = sweep.first(step); at < sweep.last(step); ++at)
        code(step, at, sweep.start(step) + at * sweep.dilation);
    }
  };
  for (std::int64_t i = 0; i < shape.batch; ++i, result += shape.image_size(), gradient += shape.result_size()) {
    for_each_place(shape.height, [&](std::int64_t row, std::int64_t filter_row, std::int64_t image_row) {
      for_each_place(shape.width, [&](std::int64_t column, std::int64_t filter_column, std::int64_t image_column) {
        const T* const from = gradient + (row * shape.width.steps + column) * shape.out;
        const T* factors = filter + (filter_row * shape.width.size + filter_column) * shape.in * shape.out;
        T* const to = result + (image_row * shape.width.extent + image_column) * shape.in;
        for (std::int64_t c = 0; c < shape.in; ++c, factors += shape.out)
          to[c] += std::inner_product(from, from + shape.out, factors, T{0});
      });
    });
  }
}

/// The gradient of a pixel is a product, too: the gradients of the windows that contain it, times the turned filter. If
/// windows move by more than one pixel, each phase is a separate product.
template <class T>
void conv2d_backprop_input(KernelContext& context, const WindowAttrs& attrs) {
  const Shape image = shape_in_input(context, 0);
  const ConvShape shape(image, context.shape(1), attrs);
  require_gradient(shape, context.shape(2));
  const std::span<T> result = context.output<T>(0, image);
  const bool is_covered = shape.height.stride <= shape.height.size && shape.width.stride <= shape.width.size;
  if (!is_covered || context.data<T>(2).empty()) std::ranges::fill(result, T{0});
  if (context.data<T>(2).empty() || result.empty()) return;

  BorderedImage<T> bordered(Border::of_gradient(shape.height), Border::of_gradient(shape.width), shape.out);
  const auto is_finite = [](T value) { return std::isfinite(value); };
  if (shape.is_dilated() || (bordered.size() > 0 && !std::ranges::all_of(context.data<T>(1), is_finite))) {
    backprop_input_by_windows<T>(shape, context.data<T>(1).data(), context.data<T>(2).data(), result.data());
    return;
  }
  T* const packing = context.scratch<T>(kPackingSize<T> + context.data<T>(1).size() + bordered.size());
  T* const turned = packing + kPackingSize<T>;
  bordered.use(turned + context.data<T>(1).size());
  const auto for_each_phase = [&](auto&& code) {
    for (std::int64_t y = 0; y < Phase::count(shape.height); ++y) {
      for (std::int64_t x = 0; x < Phase::count(shape.width); ++x) code(Phase(shape.height, y), Phase(shape.width, x));
    }
  };
  T* end = turned;
  for_each_phase([&](const Phase& height, const Phase& width) {
    end = write_turned_filter(context.data<T>(1).data(), end, shape, height, width);
  });

  const T* gradient = context.data<T>(2).data();
  T* to = result.data();
  for (std::int64_t i = 0; i < shape.batch; ++i, to += shape.image_size(), gradient += shape.result_size()) {
    const T* const from = bordered.load(gradient);
    const T* filter = turned;
    for_each_phase([&](const Phase& height, const Phase& width) {
      const std::int64_t row_of_image = shape.width.extent * shape.in;
      const Lattice inner{height.places, width.places * shape.out, bordered.row(), 1};
      multiply_gathered<T>({.a = from + height.first * bordered.row() + width.first * shape.out,
                            .rows = {height.pixels, width.pixels, bordered.row(), shape.out},
                            .inner = inner,
                            .b = filter,
                            .b_stride = shape.in,
                            .columns = shape.in,
                            .result = to + height.pixel * row_of_image + width.pixel * shape.in,
                            .result_rows = {height.pixels, width.pixels, shape.height.stride * row_of_image,
                                            shape.width.stride * shape.in},
                            .packing = packing});
      filter += inner.size() * shape.in;
    });
  }
}

/// The kernel that calls `code.operator()<T>(context, attributes)`.
template <class Code>
Kernel make_conv(const Node& node, Code code) {
  return kernel_for(FloatingTypes{}, node, "T", [attrs = window_attrs(node, true), code]<class T>() {
    return Kernel([=](KernelContext& context) { code.template operator()<T>(context, attrs); });
  });
}
inline Kernel make_conv2d(const Node& node) {
  return make_conv(node, []<class T>(KernelContext& context, const WindowAttrs& attrs) { conv2d<T>(context, attrs); });
}
inline Kernel make_conv2d_backprop_filter(const Node& node) {
  return make_conv(node, []<class T>(KernelContext& context, const WindowAttrs& attrs) {
    conv2d_backprop_filter<T>(context, attrs);
  });
}
inline Kernel make_conv2d_backprop_input(const Node& node) {
  return make_conv(node, []<class T>(KernelContext& context, const WindowAttrs& attrs) {
    conv2d_backprop_input<T>(context, attrs);
  });
}

inline constexpr std::array kConv{
    KernelDef{.type = "Conv2D", .make = make_conv2d},
    KernelDef{.type = "Conv2DBackpropFilter", .make = make_conv2d_backprop_filter},
    KernelDef{.type = "Conv2DBackpropInput", .make = make_conv2d_backprop_input},
};

}  // namespace detail

KernelGroup conv() noexcept { return detail::kConv; }

}  // namespace trainhook::kernels
