// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of convolution over images [batch, height, width, channels], with its gradients.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/engine/kernels/matmul.hpp>
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
        height(image[1], filter[0], attrs.stride_height, attrs.same),
        width(image[2], filter[1], attrs.stride_width, attrs.same),
        in(image[3]),
        out(filter[3]) {}

  [[nodiscard]] Shape result() const { return {batch, height.steps, width.steps, out}; }
  [[nodiscard]] std::int64_t patch() const noexcept { return height.size * width.size * in; }
  [[nodiscard]] std::int64_t image_size() const noexcept { return height.extent * width.extent * in; }
  [[nodiscard]] std::int64_t positions() const noexcept { return height.steps * width.steps; }

  /// Whether the image itself is the matrix of its patches.
  [[nodiscard]] bool is_pointwise() const noexcept {
    return height.size == 1 && width.size == 1 && height.stride == 1 && width.stride == 1;
  }

 private:
  static const Shape& checked(const Shape& image, const Shape& filter) {
    if (image.rank() != 4 || filter.rank() != 4) throw InvalidArgumentError("image and filter must be of rank 4");
    if (image[3] != filter[2]) throw InvalidArgumentError("an image of ", image[3], " channels and a filter of ", filter[2]);
    if (filter[0] < 1 || filter[1] < 1) throw InvalidArgumentError("the filter is empty");
    return image;
  }
};

/// Writes the patch of each position of one image as a row, zeros where it leaves the image.
template <class T>
void gather_patches(const T* image, T* rows, const ConvShape& shape) {
  const std::int64_t row_of_window = shape.width.size * shape.in;
  for (std::int64_t y = 0; y < shape.height.steps; ++y) {
    for (std::int64_t x = 0; x < shape.width.steps; ++x) {
      const std::int64_t first = shape.width.first(x);
      const std::int64_t last = (std::max)(first, shape.width.last(x));
      for (std::int64_t ky = 0; ky < shape.height.size; ++ky, rows += row_of_window) {
        const std::int64_t at = shape.height.start(y) + ky;
        if (at < 0 || at >= shape.height.extent) {
          std::fill_n(rows, row_of_window, T{0});
          continue;
        }
        const T* from = image + (at * shape.width.extent + shape.width.start(x) + first) * shape.in;
        std::fill_n(rows, first * shape.in, T{0});
        std::copy_n(from, (last - first) * shape.in, rows + first * shape.in);
        std::fill_n(rows + last * shape.in, (shape.width.size - last) * shape.in, T{0});
      }
    }
  }
}

/// Adds each row to the patch of its position: the other way round.
template <class T>
void scatter_patches(const T* rows, T* image, const ConvShape& shape) {
  const std::int64_t row_of_window = shape.width.size * shape.in;
  for (std::int64_t y = 0; y < shape.height.steps; ++y) {
    for (std::int64_t x = 0; x < shape.width.steps; ++x) {
      const std::int64_t first = shape.width.first(x);
      const std::int64_t last = (std::max)(first, shape.width.last(x));
      for (std::int64_t ky = 0; ky < shape.height.size; ++ky, rows += row_of_window) {
        const std::int64_t at = shape.height.start(y) + ky;
        if (at < 0 || at >= shape.height.extent) continue;
        T* const __restrict to = image + (at * shape.width.extent + shape.width.start(x) + first) * shape.in;
        const T* const from = rows + first * shape.in;
        for (std::int64_t i = 0; i < (last - first) * shape.in; ++i) to[i] += from[i];
      }
    }
  }
}

/// Memory for the patches of one image, and behind it for a product's blocks.
template <class T>
struct ConvScratch {
  T* patches;
  std::byte* blocks;

  ConvScratch(KernelContext& context, const ConvShape& shape, std::size_t block_bytes) {
    const auto elements = static_cast<std::size_t>(shape.positions() * shape.patch());
    const std::size_t bytes = (elements * sizeof(T) + 63) / 64 * 64;
    std::byte* memory = context.scratch(bytes + block_bytes);
    patches = reinterpret_cast<T*>(memory);
    blocks = memory + bytes;
  }
};

/// result += a * b, with memory for the blocks given.
template <class T>
void add_product(const T* a, const T* b, T* result, const ProductShape& shape, Blocking<T>& blocking) {
  const auto run = [&](auto code) { code(b, a, result, shape.columns, shape.rows, shape.inner, blocking); };
  if (shape.transpose_b) {
    run(general_product<T, Eigen::RowMajor, Eigen::ColMajor>);
  } else {
    shape.transpose_a ? run(general_product<T, Eigen::ColMajor, Eigen::RowMajor>)
                      : run(general_product<T, Eigen::ColMajor, Eigen::ColMajor>);
  }
}

template <class T>
Blocking<T> blocking_for(const ProductShape& shape) {
  return Blocking<T>(shape.columns, shape.rows, shape.inner);
}

template <class T>
void conv2d(KernelContext& context, const WindowAttrs& attrs) {
  const ConvShape shape(context.shape(0), context.shape(1), attrs);
  const std::span<T> result = context.output<T>(0, shape.result());
  std::ranges::fill(result, T{0});
  if (result.empty() || shape.patch() == 0) return;
  const ProductShape product{shape.positions(), shape.patch(), shape.out, false, false};
  Blocking<T> blocking = blocking_for<T>(product);
  const ConvScratch<T> scratch(context, shape, blocking.bytes_of_a() + blocking.bytes_of_b());
  blocking.use(scratch.blocks);
  const T* image = context.data<T>(0).data();
  T* to = result.data();
  for (std::int64_t i = 0; i < shape.batch; ++i, image += shape.image_size(), to += shape.positions() * shape.out) {
    if (!shape.is_pointwise()) gather_patches(image, scratch.patches, shape);
    add_product(shape.is_pointwise() ? image : scratch.patches, context.data<T>(1).data(), to, product, blocking);
  }
}

inline void require_gradient(const ConvShape& shape, const Shape& gradient) {
  if (gradient != shape.result()) throw InvalidArgumentError("the gradient has shape ", gradient, ", the result ", shape.result());
}

template <class T>
void conv2d_backprop_filter(KernelContext& context, const WindowAttrs& attrs) {
  const Shape filter = shape_in_input(context, 1);
  const ConvShape shape(context.shape(0), filter, attrs);
  require_gradient(shape, context.shape(2));
  const std::span<T> result = context.output<T>(0, filter);
  std::ranges::fill(result, T{0});
  if (result.empty() || context.data<T>(2).empty()) return;
  const ProductShape product{shape.patch(), shape.positions(), shape.out, true, false};
  Blocking<T> blocking = blocking_for<T>(product);
  const ConvScratch<T> scratch(context, shape, blocking.bytes_of_a() + blocking.bytes_of_b());
  blocking.use(scratch.blocks);
  const T* image = context.data<T>(0).data();
  const T* gradient = context.data<T>(2).data();
  for (std::int64_t i = 0; i < shape.batch; ++i, image += shape.image_size(), gradient += shape.positions() * shape.out) {
    if (!shape.is_pointwise()) gather_patches(image, scratch.patches, shape);
    add_product(shape.is_pointwise() ? image : scratch.patches, gradient, result.data(), product, blocking);
  }
}

template <class T>
void conv2d_backprop_input(KernelContext& context, const WindowAttrs& attrs) {
  const Shape image = shape_in_input(context, 0);
  const ConvShape shape(image, context.shape(1), attrs);
  require_gradient(shape, context.shape(2));
  const std::span<T> result = context.output<T>(0, image);
  std::ranges::fill(result, T{0});
  if (result.empty() || context.data<T>(2).empty()) return;
  const ProductShape product{shape.positions(), shape.out, shape.patch(), false, true};
  Blocking<T> blocking = blocking_for<T>(product);
  const ConvScratch<T> scratch(context, shape, blocking.bytes_of_a() + blocking.bytes_of_b());
  blocking.use(scratch.blocks);
  const T* gradient = context.data<T>(2).data();
  T* to = result.data();
  for (std::int64_t i = 0; i < shape.batch; ++i, to += shape.image_size(), gradient += shape.positions() * shape.out) {
    std::fill_n(scratch.patches, shape.positions() * shape.patch(), T{0});
    add_product(gradient, context.data<T>(1).data(), scratch.patches, product, blocking);
    scatter_patches(scratch.patches, to, shape);
  }
}

template <template <class> class Code>
Kernel make_conv(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", [attrs = window_attrs(node)]<class T>() {
    return Kernel([attrs](KernelContext& context) { Code<T>::run(context, attrs); });
  });
}
template <class T>
struct Conv2D {
  static void run(KernelContext& c, const WindowAttrs& attrs) { conv2d<T>(c, attrs); }
};
template <class T>
struct Conv2DBackpropFilter {
  static void run(KernelContext& c, const WindowAttrs& attrs) { conv2d_backprop_filter<T>(c, attrs); }
};
template <class T>
struct Conv2DBackpropInput {
  static void run(KernelContext& c, const WindowAttrs& attrs) { conv2d_backprop_input<T>(c, attrs); }
};

inline constexpr std::array kConv{
    KernelDef{.type = "Conv2D", .make = make_conv<Conv2D>},
    KernelDef{.type = "Conv2DBackpropFilter", .make = make_conv<Conv2DBackpropFilter>},
    KernelDef{.type = "Conv2DBackpropInput", .make = make_conv<Conv2DBackpropInput>},
};

}  // namespace detail

[[nodiscard]] constexpr KernelGroup conv() noexcept { return detail::kConv; }

}  // namespace trainhook::kernels
