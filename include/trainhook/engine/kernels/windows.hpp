// SPDX-License-Identifier: Apache-2.0
/// @file
/// Windows that move over images [batch, height, width, channels]: what convolution and pooling share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/engine/kernels/dispatch.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// What the attributes of a convolution or a pooling say.
struct WindowAttrs {
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  bool same = false;
};

/// The two extents of an attribute [1, height, width, 1]. @throws UnimplementedError for anything else.
inline std::array<std::int64_t, 2> window_attr(const Node& node, std::string_view key) {
  const auto& sizes = node.attr<std::vector<std::int64_t>>(key);
  if (sizes.size() == 4 && sizes[0] == 1 && sizes[3] == 1 && sizes[1] > 0 && sizes[2] > 0) return {sizes[1], sizes[2]};
  throw UnimplementedError("{} '{}': {} must be [1,height,width,1]", node.type(), node.name(), key);
}

inline WindowAttrs window_attrs(const Node& node) {
  const std::string& padding = node.attr<std::string>("padding");
  if (padding != "SAME" && padding != "VALID") {
    throw UnimplementedError("{} '{}': padding must be SAME or VALID, not {}", node.type(), node.name(), padding);
  }
  if (node.attr<std::string>("data_format") != "NHWC") {
    throw UnimplementedError("{} '{}': data_format must be NHWC", node.type(), node.name());
  }
  if (node.has_attr("dilations") && window_attr(node, "dilations") != std::array<std::int64_t, 2>{1, 1}) {
    throw UnimplementedError("{} '{}': dilations must be 1", node.type(), node.name());
  }
  const auto [height, width] = window_attr(node, "strides");
  return {height, width, padding == "SAME"};
}

/// How a window moves along one dimension.
struct Sweep {
  std::int64_t extent = 0;  // of the image
  std::int64_t size = 0;    // of the window
  std::int64_t stride = 1;
  std::int64_t before = 0;  // padding in front
  std::int64_t steps = 0;   // positions, which is the extent of the result

  Sweep(std::int64_t extent_in, std::int64_t size_in, std::int64_t stride_in, bool same)
      : extent(extent_in), size(size_in), stride(stride_in) {
    if (same) {
      steps = (extent + stride - 1) / stride;
      before = (std::max)(std::int64_t{0}, (steps - 1) * stride + size - extent) / 2;
    } else {
      if (size > extent)
        throw InvalidArgumentError("a window of {} does not fit an extent of {} without padding", size, extent);
      steps = (extent - size) / stride + 1;
    }
  }

  /// The part of the window at position `step` that lies on the image: offsets [first, last) within the window.
  [[nodiscard]] std::int64_t start(std::int64_t step) const noexcept { return step * stride - before; }
  [[nodiscard]] std::int64_t first(std::int64_t step) const noexcept {
    return (std::max)(std::int64_t{0}, -start(step));
  }
  [[nodiscard]] std::int64_t last(std::int64_t step) const noexcept { return (std::min)(size, extent - start(step)); }
};

inline Shape shape_in_input(KernelContext& context, std::size_t i) {
  const Ints dims = ints_of(context.input(i));
  return shape_of_ints(dims);
}

}  // namespace detail
}  // namespace trainhook::kernels
