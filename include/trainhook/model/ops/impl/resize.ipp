// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/resize.hpp>

#include <cstddef>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/strided_slice.hpp>

namespace trainhook::detail {

/// Input 0 in the size that input 1 holds.
inline PartialShape resized_shape(const NodeSpec& node, std::size_t) {
  const Output& images = node.inputs[0];
  const Output& size = node.inputs[1];
  require_rank(label(node), images, 4);
  require_rank(label(node), size, 1);
  if (size.shape().has_rank() && !may_equal(size.shape()[0], 2))
    throw InvalidArgumentError("{}: {} does not hold a height and a width", label(node), size);
  const Dims extents = constant_integers(size).value_or(Dims{kUnknownDim, kUnknownDim});
  const bool has_rank = images.shape().has_rank();
  return PartialShape{has_rank ? images.shape()[0] : kUnknownDim, extents[0], extents[1],
                      has_rank ? images.shape()[3] : kUnknownDim};
}

inline constexpr OpDef kResizeBilinearGradOp{"ResizeBilinearGrad", "float32 T -> T",
                                             "T:floating align_corners:bool=false half_pixel_centers:bool=false",
                                             shape_rules::like<1>};
inline constexpr OpDef kResizeNearestNeighborGradOp{
    "ResizeNearestNeighborGrad", "T int32 -> T",
    "T:{uint8,int8,int32,floating} align_corners:bool=false half_pixel_centers:bool=false", resized_shape};

inline Attrs resize_attrs(const GradientContext& context) {
  return {{"align_corners", context.node().attr<bool>("align_corners")},
          {"half_pixel_centers", context.node().attr<bool>("half_pixel_centers")}};
}

inline Grads resize_bilinear_grad(const GradientContext& context) {
  const Output images = context.input(0);
  if (!is_floating(images.dtype())) return Grads(2);
  return {add_op(kResizeBilinearGradOp, {}, {context.grad(), images}, resize_attrs(context)), Output()};
}

inline Grads resize_nearest_neighbor_grad(const GradientContext& context) {
  const Output images = context.input(0);
  const PartialShape& shape = images.shape();
  const bool is_known = shape.has_rank() && shape[1] != kUnknownDim && shape[2] != kUnknownDim;
  const Output size = is_known ? constant_ints(context.graph(), {shape[1], shape[2]}, "size")
                               : strided_slice(trainhook::shape(images), {1}, {3}, {1});
  return {add_op(kResizeNearestNeighborGradOp, {}, {context.grad(), size}, resize_attrs(context)), Output()};
}

inline constexpr OpDef kResizeBilinearOp{
    "ResizeBilinear", "T int32 -> float32",
    "T:{int8,int16,int32,int64,uint8,uint16,floating} align_corners:bool=false half_pixel_centers:bool=false",
    resized_shape, resize_bilinear_grad};
inline constexpr OpDef kResizeNearestNeighborOp{
    "ResizeNearestNeighbor", "T int32 -> T",
    "T:{int8,int16,int32,int64,uint8,uint16,floating} align_corners:bool=false half_pixel_centers:bool=false",
    resized_shape, resize_nearest_neighbor_grad};

inline constexpr std::array kResizeOps{&kResizeBilinearOp, &kResizeBilinearGradOp, &kResizeNearestNeighborOp,
                                       &kResizeNearestNeighborGradOp};

OpFamily resize_ops() noexcept { return kResizeOps; }

inline Output resized(const OpDef& def, const Output& images, const ImageSize& size, const ResizeOptions& options,
                      std::string_view name) {
  const Output extents = constant_ints(graph_of(def.type, images), {size[0], size[1]}, fmt::format("{}/size", name));
  return add_op(def, name, {images, extents},
                {{"align_corners", options.align_corners}, {"half_pixel_centers", options.half_pixel_centers}});
}

}  // namespace trainhook::detail

namespace trainhook {

Output resize_bilinear(Output images, const ImageSize& size, const ResizeOptions& options, std::string_view name) {
  return detail::resized(detail::kResizeBilinearOp, images, size, options, name);
}

Output resize_nearest_neighbor(Output images, const ImageSize& size, const ResizeOptions& options,
                               std::string_view name) {
  return detail::resized(detail::kResizeNearestNeighborOp, images, size, options, name);
}

}  // namespace trainhook
