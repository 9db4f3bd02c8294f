// SPDX-License-Identifier: Apache-2.0
/// @file
/// The op types that a graph from a file may use: their signatures as TensorFlow registers them, and the attributes it
/// leaves out.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph_def/op_def.hpp>
#include <trainhook/graph_def/shape_rules.hpp>

namespace trainhook {
namespace detail {

/// An attribute that TensorFlow leaves out of files where it has the value that `make` gives.
struct DefaultAttr {
  std::string_view op{};
  std::string_view key{};
  AttrValue (*make)() = nullptr;
};

template <DType Value>
AttrValue dtype_attr() {
  return Value;
}
template <bool Value>
AttrValue bool_attr() {
  return Value;
}
template <std::int64_t Value>
AttrValue int_attr() {
  return Value;
}
template <std::int64_t... Values>
AttrValue ints_attr() {
  return std::vector<std::int64_t>{Values...};
}
inline AttrValue text_attr() { return std::string(); }
TRAINHOOK_DECL AttrValue nhwc_attr();

inline constexpr std::array kDefaultAttrs{
    DefaultAttr{"All", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"All", "keep_dims", bool_attr<false>},
    DefaultAttr{"Any", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"Any", "keep_dims", bool_attr<false>},
    DefaultAttr{"ApplyAdagrad", "update_slots", bool_attr<true>},
    DefaultAttr{"ApplyAdam", "use_nesterov", bool_attr<false>},
    DefaultAttr{"ApplyMomentum", "use_nesterov", bool_attr<false>},
    DefaultAttr{"ArgMax", "output_type", dtype_attr<DType::Int64>},
    DefaultAttr{"ArgMin", "output_type", dtype_attr<DType::Int64>},
    DefaultAttr{"Assign", "validate_shape", bool_attr<true>},
    DefaultAttr{"AvgPool", "data_format", nhwc_attr},
    DefaultAttr{"AvgPoolGrad", "data_format", nhwc_attr},
    DefaultAttr{"BiasAdd", "data_format", nhwc_attr},
    DefaultAttr{"BiasAddGrad", "data_format", nhwc_attr},
    DefaultAttr{"BroadcastGradientArgs", "T", dtype_attr<DType::Int32>},
    DefaultAttr{"BroadcastTo", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"ConcatV2", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"Conv2D", "data_format", nhwc_attr},
    DefaultAttr{"Conv2D", "dilations", ints_attr<1, 1, 1, 1>},
    DefaultAttr{"Conv2D", "explicit_paddings", ints_attr<>},
    DefaultAttr{"Conv2DBackpropFilter", "data_format", nhwc_attr},
    DefaultAttr{"Conv2DBackpropFilter", "dilations", ints_attr<1, 1, 1, 1>},
    DefaultAttr{"Conv2DBackpropFilter", "explicit_paddings", ints_attr<>},
    DefaultAttr{"Conv2DBackpropInput", "data_format", nhwc_attr},
    DefaultAttr{"Conv2DBackpropInput", "dilations", ints_attr<1, 1, 1, 1>},
    DefaultAttr{"Conv2DBackpropInput", "explicit_paddings", ints_attr<>},
    DefaultAttr{"ExpandDims", "Tdim", dtype_attr<DType::Int32>},
    DefaultAttr{"FIFOQueueV2", "capacity", int_attr<-1>},
    DefaultAttr{"FIFOQueueV2", "container", text_attr},
    DefaultAttr{"FIFOQueueV2", "shapes", ints_attr<>},
    DefaultAttr{"FIFOQueueV2", "shared_name", text_attr},
    DefaultAttr{"Fill", "index_type", dtype_attr<DType::Int32>},
    DefaultAttr{"GatherV2", "batch_dims", int_attr<0>},
    DefaultAttr{"HistogramSummary", "T", dtype_attr<DType::Float>},
    DefaultAttr{"ImageSummary", "T", dtype_attr<DType::Float>},
    DefaultAttr{"ImageSummary", "bad_color",
                +[] {
                  return AttrValue(Tensor::of<std::uint8_t>({255, 0, 0, 255}));
                }},
    DefaultAttr{"ImageSummary", "max_images", int_attr<3>},
    DefaultAttr{"InvertPermutation", "T", dtype_attr<DType::Int32>},
    DefaultAttr{"LeakyRelu", "T", dtype_attr<DType::Float>},
    DefaultAttr{"LeakyRelu", "alpha", +[] { return AttrValue(0.2F); }},
    DefaultAttr{"LeakyReluGrad", "T", dtype_attr<DType::Float>},
    DefaultAttr{"LeakyReluGrad", "alpha", +[] { return AttrValue(0.2F); }},
    DefaultAttr{"MatMul", "transpose_a", bool_attr<false>},
    DefaultAttr{"MatMul", "transpose_b", bool_attr<false>},
    DefaultAttr{"Max", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"Max", "keep_dims", bool_attr<false>},
    DefaultAttr{"MaxPool", "T", dtype_attr<DType::Float>},
    DefaultAttr{"MaxPool", "data_format", nhwc_attr},
    DefaultAttr{"MaxPoolGrad", "T", dtype_attr<DType::Float>},
    DefaultAttr{"MaxPoolGrad", "data_format", nhwc_attr},
    DefaultAttr{"Mean", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"Mean", "keep_dims", bool_attr<false>},
    DefaultAttr{"Min", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"Min", "keep_dims", bool_attr<false>},
    DefaultAttr{"OneHot", "TI", dtype_attr<DType::Int64>},
    DefaultAttr{"OneHot", "axis", int_attr<-1>},
    DefaultAttr{"Pack", "axis", int_attr<0>},
    DefaultAttr{"Pad", "Tpaddings", dtype_attr<DType::Int32>},
    DefaultAttr{"Placeholder", "shape", +[] { return AttrValue(PartialShape()); }},
    DefaultAttr{"Prod", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"Prod", "keep_dims", bool_attr<false>},
    DefaultAttr{"QueueCloseV2", "cancel_pending_enqueues", bool_attr<false>},
    DefaultAttr{"QueueDequeueManyV2", "timeout_ms", int_attr<-1>},
    DefaultAttr{"QueueDequeueV2", "timeout_ms", int_attr<-1>},
    DefaultAttr{"QueueEnqueueManyV2", "timeout_ms", int_attr<-1>},
    DefaultAttr{"QueueEnqueueV2", "timeout_ms", int_attr<-1>},
    DefaultAttr{"RandomStandardNormal", "seed", int_attr<0>},
    DefaultAttr{"RandomStandardNormal", "seed2", int_attr<0>},
    DefaultAttr{"RandomUniform", "seed", int_attr<0>},
    DefaultAttr{"RandomUniform", "seed2", int_attr<0>},
    DefaultAttr{"RandomUniformInt", "seed", int_attr<0>},
    DefaultAttr{"RandomUniformInt", "seed2", int_attr<0>},
    DefaultAttr{"Range", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"Relu", "T", dtype_attr<DType::Float>},
    DefaultAttr{"Relu6", "T", dtype_attr<DType::Float>},
    DefaultAttr{"Relu6Grad", "T", dtype_attr<DType::Float>},
    DefaultAttr{"ReluGrad", "T", dtype_attr<DType::Float>},
    DefaultAttr{"Reshape", "Tshape", dtype_attr<DType::Int32>},
    DefaultAttr{"Shape", "out_type", dtype_attr<DType::Int32>},
    DefaultAttr{"ShapeN", "out_type", dtype_attr<DType::Int32>},
    DefaultAttr{"Size", "out_type", dtype_attr<DType::Int32>},
    DefaultAttr{"SparseSoftmaxCrossEntropyWithLogits", "Tlabels", dtype_attr<DType::Int64>},
    DefaultAttr{"Squeeze", "squeeze_dims", ints_attr<>},
    DefaultAttr{"StridedSlice", "begin_mask", int_attr<0>},
    DefaultAttr{"StridedSlice", "ellipsis_mask", int_attr<0>},
    DefaultAttr{"StridedSlice", "end_mask", int_attr<0>},
    DefaultAttr{"StridedSlice", "new_axis_mask", int_attr<0>},
    DefaultAttr{"StridedSlice", "shrink_axis_mask", int_attr<0>},
    DefaultAttr{"StridedSliceGrad", "begin_mask", int_attr<0>},
    DefaultAttr{"StridedSliceGrad", "ellipsis_mask", int_attr<0>},
    DefaultAttr{"StridedSliceGrad", "end_mask", int_attr<0>},
    DefaultAttr{"StridedSliceGrad", "new_axis_mask", int_attr<0>},
    DefaultAttr{"StridedSliceGrad", "shrink_axis_mask", int_attr<0>},
    DefaultAttr{"Sum", "Tidx", dtype_attr<DType::Int32>},
    DefaultAttr{"Sum", "keep_dims", bool_attr<false>},
    DefaultAttr{"Tile", "Tmultiples", dtype_attr<DType::Int32>},
    DefaultAttr{"Transpose", "Tperm", dtype_attr<DType::Int32>},
    DefaultAttr{"TruncatedNormal", "seed", int_attr<0>},
    DefaultAttr{"TruncatedNormal", "seed2", int_attr<0>},
    DefaultAttr{"Unique", "out_idx", dtype_attr<DType::Int32>},
    DefaultAttr{"Unpack", "axis", int_attr<0>},
    DefaultAttr{"UnsortedSegmentSum", "Tnumsegments", dtype_attr<DType::Int32>},
};

}  // namespace detail

/// The definition of an op type that this library knows, or null. `extra` comes first.
[[nodiscard]] TRAINHOOK_DECL const OpDef* find_op_def(std::string_view type,
                                                      std::span<const OpDef> extra = {}) noexcept;

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/op_defs.ipp>
#endif
