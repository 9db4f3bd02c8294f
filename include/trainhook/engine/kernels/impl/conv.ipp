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

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/convolution.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/gathered_product.hpp>
#include <trainhook/engine/kernels/windows.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

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

/// The positions of a window, in a row-major image of `row` elements a row.
inline Lattice positions(const ConvShape& shape, std::int64_t row) {
  return {shape.height.steps, shape.width.steps, shape.height.stride * row, shape.width.stride * shape.in};
}

/// Calls `code(i, worker)` for all images.
template <class T, class Code>
void for_each_image(const KernelContext& context, const Blocks& images, const BorderedImage<T>& bordered,
                    const WorkerMemory<T>& memory, const Code& code) {
  for_each_block(context, images, [&](const Block& block) {
    const ConvWorker<T> worker(bordered, memory.of(block));
    for (std::int64_t i = block.begin; i < block.end; ++i) code(i, worker);
  });
}

template <class T>
void conv2d(KernelContext& context, const WindowAttrs& attrs) {
  const ConvShape shape(context.shape(0), context.shape(1), attrs);
  const std::span<T> result = context.output<T>(0, shape.result());
  if (result.empty()) return;
  const Blocks images = shape.images();
  const auto bordered = bordered_image<T>(shape);
  const WorkerMemory<T> memory(context, images, ConvWorker<T>::memory_size(bordered));
  for_each_image(context, images, bordered, memory, [&](std::int64_t i, const ConvWorker<T>& worker) {
    const T* const image = worker.image.load(context.data<T>(0).data() + i * shape.image_size());
    const std::int64_t row = worker.image.row();
    for_each_part(shape, row, [&](const WindowPart& part) {
      multiply_gathered<T>({.a = image + part.in_image,
                            .rows = positions(shape, row),
                            .inner = {part.height, part.width * shape.in, row, 1},
                            .b = context.data<T>(1).data() + part.in_filter * shape.out,
                            .b_stride = shape.out,
                            .columns = shape.out,
                            .result = result.data() + i * shape.result_size(),
                            .result_rows = {1, shape.height.steps * shape.width.steps, 0, shape.out},
                            .adds = part.in_filter > 0,
                            .packing = worker.packing});
    });
  });
}

inline void require_gradient(const ConvShape& shape, const Shape& gradient) {
  if (gradient != shape.result())
    throw InvalidArgumentError("the gradient has shape {}, the result {}", gradient, shape.result());
}

/// Writes some columns of the filter's gradient, summed over some images, to `result`, which has all columns.
template <class T>
void sum_filter_gradient(const KernelContext& context, const ConvShape& shape, const Block& images,
                         const Block& columns, const ConvWorker<T>& worker, T* result) {
  for (std::int64_t i = images.begin; i < images.end; ++i) {
    const T* const image = worker.image.load(context.data<T>(0).data() + i * shape.image_size());
    const std::int64_t row = worker.image.row();
    for_each_part(shape, row, [&](const WindowPart& part) {
      multiply_gathered<T>({.a = image + part.in_image,
                            .rows = {part.height, part.width * shape.in, row, 1},
                            .inner = positions(shape, row),
                            .b = context.data<T>(2).data() + i * shape.result_size() + columns.begin,
                            .b_stride = shape.out,
                            .columns = columns.size(),
                            .result = result + part.in_filter * shape.out + columns.begin,
                            .result_rows = {1, part.height * part.width * shape.in, 0, shape.out},
                            .adds = i > images.begin,
                            .packing = worker.packing});
    });
  }
}

/// Many columns are shared out. Of few, each block of images has a sum of its own.
template <class T>
void conv2d_backprop_filter(KernelContext& context, const WindowAttrs& attrs) {
  const Shape filter = shape_in_input(context, 1);
  const ConvShape shape(context.shape(0), filter, attrs);
  require_gradient(shape, context.shape(2));
  const std::span<T> result = context.output<T>(0, filter);
  if (context.data<T>(2).empty()) std::ranges::fill(result, T{0});
  if (context.data<T>(2).empty() || result.empty()) return;
  const auto bordered = bordered_image<T>(shape);
  constexpr std::int64_t kMany = 256;
  if (shape.out >= kMany) {
    const Blocks columns = shape.columns();
    const WorkerMemory<T> memory(context, columns, ConvWorker<T>::memory_size(bordered));
    for_each_block(context, columns, [&](const Block& block) {
      sum_filter_gradient<T>(context, shape, {0, shape.batch}, block, {bordered, memory.of(block)}, result.data());
    });
  } else {
    const Blocks images = shape.images((std::max)(shape.batch / 16, std::int64_t{4}));
    const WorkerMemory<T> memory(context, images, ConvWorker<T>::memory_size(bordered), images.parts(result.size()));
    sum_over_blocks(context, images, as_array(result), memory.shared(), [&](const Block& block, ArrayMap<T> sum) {
      sum_filter_gradient<T>(context, shape, block, {0, shape.out}, {bordered, memory.of(block)}, sum.data());
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
  std::fill_n(result, shape.image_size(), T{0});
  const auto for_each_place = [](const Sweep& sweep, auto&& code) {
    for (std::int64_t step = 0; step < sweep.steps; ++step) {
      for (std::int64_t at = sweep.first(step); at < sweep.last(step); ++at)
        code(step, at, sweep.start(step) + at * sweep.dilation);
    }
  };
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

  const BorderedImage<T> bordered(Border::of_gradient(shape.height), Border::of_gradient(shape.width), shape.out);
  const Blocks images = shape.images();
  const std::span<const T> filter = context.data<T>(1);
  const T* const gradient = context.data<T>(2).data();
  const auto is_finite = [](T value) { return std::isfinite(value); };
  if (shape.is_dilated() || (bordered.size() > 0 && !std::ranges::all_of(filter, is_finite))) {
    for_each_block(context, images, [&](const Block& block) {
      for (std::int64_t i = block.begin; i < block.end; ++i)
        backprop_input_by_windows<T>(shape, filter.data(), gradient + i * shape.result_size(),
                                     result.data() + i * shape.image_size());
    });
    return;
  }
  const WorkerMemory<T> memory(context, images, ConvWorker<T>::memory_size(bordered), filter.size());
  T* turned = memory.shared();
  for_each_phase(shape, [&](const Phase& height, const Phase& width) {
    turned = write_turned_filter(filter.data(), turned, shape, height, width);
  });
  for_each_image(context, images, bordered, memory, [&](std::int64_t i, const ConvWorker<T>& worker) {
    backprop_input_by_phases<T>(shape, memory.shared(), gradient + i * shape.result_size(), worker,
                                result.data() + i * shape.image_size());
  });
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
