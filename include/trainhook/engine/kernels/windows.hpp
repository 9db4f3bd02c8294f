// SPDX-License-Identifier: Apache-2.0
/// @file
/// Windows that move over images [batch, height, width, channels], for convolution and pooling.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/engine/kernels/dispatch.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The attributes of a convolution or pooling.
struct WindowAttrs {
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  bool same = false;
  std::int64_t dilation_height = 1;
  std::int64_t dilation_width = 1;
  std::array<std::int64_t, 4> around{};  ///< zeros before and after, for the height and the width
};

inline constexpr std::int64_t kMostPixels = INT32_MAX;  // along one dimension, so that products of two do not overflow

/// The two extents of an attribute [1, height, width, 1]. @throws UnimplementedError for anything else.
inline std::array<std::int64_t, 2> window_attr(const Node& node, std::string_view key) {
  const auto& sizes = node.attr<std::vector<std::int64_t>>(key);
  const auto fits = [](std::int64_t size) { return size > 0 && size <= kMostPixels; };
  if (sizes.size() == 4 && sizes[0] == 1 && sizes[3] == 1 && fits(sizes[1]) && fits(sizes[2]))
    return {sizes[1], sizes[2]};
  throw UnimplementedError("{} '{}': {} must be [1,height,width,1], and none more than {}", node.type(), node.name(),
                           key, kMostPixels);
}

inline WindowAttrs window_attrs(const Node& node, bool takes_explicit = false) {
  const std::string& padding = node.attr<std::string>("padding");
  const bool is_explicit = padding == "EXPLICIT" && takes_explicit && node.has_attr("explicit_paddings");
  if (padding != "SAME" && padding != "VALID" && !is_explicit) {
    throw UnimplementedError("{} '{}': padding must be SAME or VALID, not {}", node.type(), node.name(), padding);
  }
  if (node.attr<std::string>("data_format") != "NHWC") {
    throw UnimplementedError("{} '{}': data_format must be NHWC", node.type(), node.name());
  }
  const auto [height, width] = window_attr(node, "strides");
  WindowAttrs attrs{height, width, padding == "SAME"};
  if (node.has_attr("dilations")) {
    const auto [dilation_height, dilation_width] = window_attr(node, "dilations");
    attrs.dilation_height = dilation_height;
    attrs.dilation_width = dilation_width;
  }
  if (is_explicit) {
    const auto& paddings = node.attr<std::vector<std::int64_t>>("explicit_paddings");
    if (paddings.size() != 8)
      throw InvalidArgumentError("{} '{}': explicit_paddings must have 8 numbers", node.type(), node.name());
    std::copy_n(paddings.begin() + 2, 4, attrs.around.begin());
  }
  return attrs;
}

/// The movement of a window along one dimension.
struct Sweep {
  std::int64_t extent = 0;  // of the image
  std::int64_t size = 0;    // elements of the window
  std::int64_t stride = 1;
  std::int64_t before = 0;    // padding in front
  std::int64_t steps = 0;     // positions, the extent of the result
  std::int64_t dilation = 1;  // from one element of the window to the next

  Sweep(std::int64_t extent_in, std::int64_t size_in, std::int64_t stride_in, bool same)
      : Sweep(extent_in, size_in, stride_in, 1, same, 0, 0) {}

  static Sweep over_height(std::int64_t extent, std::int64_t size, const WindowAttrs& attrs) {
    return {extent, size, attrs.stride_height, attrs.dilation_height, attrs.same, attrs.around[0], attrs.around[1]};
  }
  static Sweep over_width(std::int64_t extent, std::int64_t size, const WindowAttrs& attrs) {
    return {extent, size, attrs.stride_width, attrs.dilation_width, attrs.same, attrs.around[2], attrs.around[3]};
  }

  /// The extent of the window on the image.
  [[nodiscard]] std::int64_t reach() const noexcept { return (size - 1) * dilation + 1; }

  [[nodiscard]] std::int64_t start(std::int64_t step) const noexcept { return step * stride - before; }

  /// The elements of the window at position `step` that are on the image: [first, last).
  [[nodiscard]] std::int64_t first(std::int64_t step) const noexcept { return places_before(-start(step)); }
  [[nodiscard]] std::int64_t last(std::int64_t step) const noexcept {
    return (std::min)(size, places_before(extent - start(step)));
  }

 private:
  Sweep(std::int64_t extent_in, std::int64_t size_in, std::int64_t stride_in, std::int64_t dilation_in, bool same,
        std::int64_t zeros_before, std::int64_t zeros_after)
      : extent(extent_in), size(size_in), stride(stride_in), before(zeros_before), dilation(dilation_in) {
    if (extent > kMostPixels || size > kMostPixels || zeros_before > kMostPixels || zeros_after > kMostPixels)
      throw InvalidArgumentError(
          "a window of {} over an extent of {} with {} and {} zeros around it: at most {} are taken", size, extent,
          zeros_before, zeros_after, kMostPixels);
    if (same) {
      steps = (extent + stride - 1) / stride;
      before = (std::max)(std::int64_t{0}, (steps - 1) * stride + reach() - extent) / 2;
    } else {
      const std::int64_t padded = zeros_before + extent + zeros_after;
      if (reach() > padded)
        throw InvalidArgumentError("a window of {} does not fit an extent of {} with {} zeros around it", reach(),
                                   extent, zeros_before + zeros_after);
      steps = (padded - reach()) / stride + 1;
    }
  }

  /// The number of elements that start less than `distance` from the start of the window.
  [[nodiscard]] std::int64_t places_before(std::int64_t distance) const noexcept {
    if (dilation == 1) return (std::max)(std::int64_t{0}, distance);
    return distance <= 0 ? 0 : (distance + dilation - 1) / dilation;
  }
};

inline Shape shape_in_input(KernelContext& context, std::size_t i) {
  const Ints dims = ints_of(context.input(i));
  return shape_of_ints(dims);
}

}  // namespace detail
}  // namespace trainhook::kernels
