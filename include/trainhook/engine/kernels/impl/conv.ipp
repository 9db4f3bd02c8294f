// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of convolution over images [batch, height, width, channels], with its gradients.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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

/// A product whose first factor and result have contiguous rows, shared out. `first` is that of the first row.
template <class T>
void multiply_rows(const KernelContext& context, const Blocks& rows, const GatheredProduct<T>& first) {
  const WorkerMemory<T> memory(context, rows, kPackingSize<T>);
  for_each_block(context, rows, [&](const Block& block) {
    GatheredProduct<T> product = first;
    product.a += block.begin * product.rows.column_stride;
    product.result += block.begin * product.result_rows.column_stride;
    product.rows.columns = product.result_rows.columns = block.size();
    product.packing = memory.of(block);
    multiply_gathered(product);
  });
}

template <class T>
void conv2d(KernelContext& context, const WindowAttrs& attrs) {
  const ConvShape shape(context.shape(0), context.shape(1), attrs);
  const std::span<T> result = context.output<T>(0, shape.result());
  if (result.empty()) return;
  if (shape.has_whole_images())
    return multiply_rows<T>(context, shape.whole_images(),
                            {.a = context.data<T>(0).data(),
                             .rows = {1, 1, 0, shape.window_size()},
                             .inner = {1, shape.window_size(), 0, 1},
                             .b = context.data<T>(1).data(),
                             .b_stride = shape.out,
                             .columns = shape.out,
                             .result = result.data(),
                             .result_rows = {1, 1, 0, shape.out}});
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
  if (shape.has_whole_images())
    return multiply_rows<T>(context, shape.places(),
                            {.a = context.data<T>(0).data(),
                             .rows = {1, 1, 0, 1},
                             .inner = {1, shape.batch, 0, shape.window_size()},
                             .b = context.data<T>(2).data(),
                             .b_stride = shape.out,
                             .columns = shape.out,
                             .result = result.data(),
                             .result_rows = {1, 1, 0, shape.out}});
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

  if (shape.has_whole_images())
    return multiply_rows<T>(context, shape.whole_images(),
                            {.a = context.data<T>(2).data(),
                             .rows = {1, 1, 0, shape.out},
                             .inner = {1, shape.out, 0, 1},
                             .b = context.data<T>(1).data(),
                             .b_stride = 1,
                             .b_column_stride = shape.out,
                             .columns = shape.window_size(),
                             .result = result.data(),
                             .result_rows = {1, 1, 0, shape.window_size()}});
  const BorderedImage<T> bordered(Border::of_gradient(shape.height), Border::of_gradient(shape.width), shape.out);
  const Blocks images = shape.images();
  const std::span<const T> filter = context.data<T>(1);
  const T* const gradient = context.data<T>(2).data();
  if (is_by_windows(shape, bordered, filter)) {
    const auto places = static_cast<std::size_t>(windows_at_once(shape) * shape.window_size());
    const WorkerMemory<T> memory(context, images, kPackingSize<T> + places, filter.size());
    transpose(filter.data(), shape.window_size(), shape.out, shape.out, memory.shared());
    for_each_block(context, images, [&](const Block& block) {
      T* const packing = memory.of(block);
      for (std::int64_t i = block.begin; i < block.end; ++i)
        backprop_input_by_windows<T>(shape, memory.shared(), gradient + i * shape.result_size(),
                                     packing + kPackingSize<T>, packing, result.data() + i * shape.image_size());
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
