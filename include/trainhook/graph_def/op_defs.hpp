// SPDX-License-Identifier: Apache-2.0
/// @file
/// The op types that a graph from a file may use: their signatures as TensorFlow registers them, and the attributes it leaves out.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/graph_def/shape_rules.hpp>

namespace trainhook {
namespace detail {

inline constexpr std::array kElementwiseOps{
    OpDef{"Abs", "T -> T", shape_rules::like<0>},
    OpDef{"Add", "T T -> T", shape_rules::broadcast},
    OpDef{"AddN", "N*T -> T", shape_rules::like<0>},
    OpDef{"AddV2", "T T -> T", shape_rules::broadcast},
    OpDef{"Cast", "SrcT -> DstT", shape_rules::like<0>},
    OpDef{"CheckNumerics", "T -> T", shape_rules::like<0>},
    OpDef{"Cos", "T -> T", shape_rules::like<0>},
    OpDef{"Equal", "T T -> bool", shape_rules::broadcast},
    OpDef{"Exp", "T -> T", shape_rules::like<0>},
    OpDef{"Floor", "T -> T", shape_rules::like<0>},
    OpDef{"FloorDiv", "T T -> T", shape_rules::broadcast},
    OpDef{"FloorMod", "T T -> T", shape_rules::broadcast},
    OpDef{"Greater", "T T -> bool", shape_rules::broadcast},
    OpDef{"GreaterEqual", "T T -> bool", shape_rules::broadcast},
    OpDef{"IsFinite", "T -> bool", shape_rules::like<0>},
    OpDef{"IsInf", "T -> bool", shape_rules::like<0>},
    OpDef{"IsNan", "T -> bool", shape_rules::like<0>},
    OpDef{"Less", "T T -> bool", shape_rules::broadcast},
    OpDef{"LessEqual", "T T -> bool", shape_rules::broadcast},
    OpDef{"Log", "T -> T", shape_rules::like<0>},
    OpDef{"Log1p", "T -> T", shape_rules::like<0>},
    OpDef{"LogicalAnd", "bool bool -> bool", shape_rules::broadcast},
    OpDef{"LogicalNot", "bool -> bool", shape_rules::like<0>},
    OpDef{"LogicalOr", "bool bool -> bool", shape_rules::broadcast},
    OpDef{"Maximum", "T T -> T", shape_rules::broadcast},
    OpDef{"Minimum", "T T -> T", shape_rules::broadcast},
    OpDef{"Mul", "T T -> T", shape_rules::broadcast},
    OpDef{"Neg", "T -> T", shape_rules::like<0>},
    OpDef{"NotEqual", "T T -> bool", shape_rules::broadcast},
    OpDef{"OnesLike", "T -> T", shape_rules::like<0>},
    OpDef{"Pow", "T T -> T", shape_rules::broadcast},
    OpDef{"RealDiv", "T T -> T", shape_rules::broadcast},
    OpDef{"Reciprocal", "T -> T", shape_rules::like<0>},
    OpDef{"Rsqrt", "T -> T", shape_rules::like<0>},
    OpDef{"Select", "bool T T -> T", shape_rules::like<1>},
    OpDef{"SelectV2", "bool T T -> T", shape_rules::select},
    OpDef{"Sign", "T -> T", shape_rules::like<0>},
    OpDef{"Sin", "T -> T", shape_rules::like<0>},
    OpDef{"Sqrt", "T -> T", shape_rules::like<0>},
    OpDef{"Square", "T -> T", shape_rules::like<0>},
    OpDef{"SquaredDifference", "T T -> T", shape_rules::broadcast},
    OpDef{"Sub", "T T -> T", shape_rules::broadcast},
    OpDef{"ZerosLike", "T -> T", shape_rules::like<0>},
};

inline constexpr std::array kArrayOps{
    OpDef{"All", "bool index -> bool", shape_rules::reduction},
    OpDef{"Any", "bool index -> bool", shape_rules::reduction},
    OpDef{"ArgMax", "T index -> output_type", shape_rules::arg_extreme},
    OpDef{"ArgMin", "T index -> output_type", shape_rules::arg_extreme},
    OpDef{"BroadcastGradientArgs", "T T -> T T", shape_rules::vector},
    OpDef{"BroadcastTo", "T Tidx -> T", shape_rules::dims_in<1>},
    OpDef{"ConcatOffset", "int32 N*int32 -> N*int32", shape_rules::like<1>},
    OpDef{"ConcatV2", "N*T Tidx -> T", shape_rules::concat},
    OpDef{"Const", "-> dtype", shape_rules::attr_value},
    OpDef{"DynamicStitch", "N*int32 N*T -> T"},
    OpDef{"ExpandDims", "T Tdim -> T", shape_rules::expand_dims},
    OpDef{"Fill", "index_type T -> T", shape_rules::dims_in<0>},
    OpDef{"GatherV2", "Tparams Tindices Taxis -> Tparams", shape_rules::gather},
    OpDef{"Identity", "T -> T", shape_rules::like<0>},
    OpDef{"InvertPermutation", "T -> T", shape_rules::like<0>},
    OpDef{"L2Loss", "T -> T", shape_rules::scalar},
    OpDef{"MatMul", "T T -> T", shape_rules::matmul},
    OpDef{"Max", "T Tidx -> T", shape_rules::reduction},
    OpDef{"Mean", "T Tidx -> T", shape_rules::reduction},
    OpDef{"Min", "T Tidx -> T", shape_rules::reduction},
    OpDef{"NoOp", "->"},
    OpDef{"OneHot", "TI int32 T T -> T", shape_rules::one_hot},
    OpDef{"Pack", "N*T -> T", shape_rules::pack},
    OpDef{"Pad", "T Tpaddings -> T", shape_rules::pad},
    OpDef{"Placeholder", "-> dtype", shape_rules::attr_shape},
    OpDef{"PlaceholderWithDefault", "dtype -> dtype", shape_rules::attr_shape},
    OpDef{"Prod", "T Tidx -> T", shape_rules::reduction},
    OpDef{"Range", "Tidx Tidx Tidx -> Tidx", shape_rules::range},
    OpDef{"Rank", "T -> int32", shape_rules::scalar},
    OpDef{"Reshape", "T Tshape -> T", shape_rules::reshape},
    OpDef{"Shape", "T -> out_type", shape_rules::vector_of_rank},
    OpDef{"ShapeN", "N*T -> N*out_type", shape_rules::vector_of_rank},
    OpDef{"Size", "T -> out_type", shape_rules::scalar},
    OpDef{"Slice", "T Index Index -> T", shape_rules::slice},
    OpDef{"Squeeze", "T -> T", shape_rules::squeeze},
    OpDef{"StopGradient", "T -> T", shape_rules::like<0>},
    OpDef{"StridedSlice", "T Index Index Index -> T", shape_rules::strided_slice},
    OpDef{"StridedSliceGrad", "Index Index Index Index T -> T", shape_rules::dims_in<0>},
    OpDef{"Sum", "T Tidx -> T", shape_rules::reduction},
    OpDef{"Tile", "T Tmultiples -> T", shape_rules::tile},
    OpDef{"Transpose", "T Tperm -> T", shape_rules::transpose},
    OpDef{"Unique", "T -> T out_idx", shape_rules::unique},
    OpDef{"Unpack", "T -> num*T", shape_rules::unpack},
    OpDef{"UnsortedSegmentSum", "T Tindices Tnumsegments -> T", shape_rules::segment_sum},
};

inline constexpr std::array kNetworkOps{
    OpDef{"AvgPool", "T -> T", shape_rules::pool},
    OpDef{"AvgPoolGrad", "int32 T -> T", shape_rules::dims_in<0>},
    OpDef{"BiasAdd", "T T -> T", shape_rules::like<0>},
    OpDef{"BiasAddGrad", "T -> T", shape_rules::last_dim},
    OpDef{"Conv2D", "T T -> T", shape_rules::conv2d},
    OpDef{"Conv2DBackpropFilter", "T int32 T -> T", shape_rules::dims_in<1>},
    OpDef{"Conv2DBackpropInput", "int32 T T -> T", shape_rules::dims_in<0>},
    OpDef{"Elu", "T -> T", shape_rules::like<0>},
    OpDef{"EluGrad", "T T -> T", shape_rules::like<0>},
    OpDef{"LeakyRelu", "T -> T", shape_rules::like<0>},
    OpDef{"LeakyReluGrad", "T T -> T", shape_rules::like<0>},
    OpDef{"LogSoftmax", "T -> T", shape_rules::like<0>},
    OpDef{"MaxPool", "T -> T", shape_rules::pool},
    OpDef{"MaxPoolGrad", "T T T -> T", shape_rules::like<0>},
    OpDef{"RandomStandardNormal", "T -> dtype", shape_rules::dims_in<0>},
    OpDef{"RandomUniform", "T -> dtype", shape_rules::dims_in<0>},
    OpDef{"RandomUniformInt", "T Tout Tout -> Tout", shape_rules::dims_in<0>},
    OpDef{"Relu", "T -> T", shape_rules::like<0>},
    OpDef{"Relu6", "T -> T", shape_rules::like<0>},
    OpDef{"Relu6Grad", "T T -> T", shape_rules::like<0>},
    OpDef{"ReluGrad", "T T -> T", shape_rules::like<0>},
    OpDef{"Sigmoid", "T -> T", shape_rules::like<0>},
    OpDef{"SigmoidGrad", "T T -> T", shape_rules::like<0>},
    OpDef{"Softmax", "T -> T", shape_rules::like<0>},
    OpDef{"SoftmaxCrossEntropyWithLogits", "T T -> T T", shape_rules::cross_entropy},
    OpDef{"Softplus", "T -> T", shape_rules::like<0>},
    OpDef{"SoftplusGrad", "T T -> T", shape_rules::like<0>},
    OpDef{"SparseSoftmaxCrossEntropyWithLogits", "T Tlabels -> T T", shape_rules::cross_entropy},
    OpDef{"Tanh", "T -> T", shape_rules::like<0>},
    OpDef{"TanhGrad", "T T -> T", shape_rules::like<0>},
    OpDef{"TruncatedNormal", "T -> dtype", shape_rules::dims_in<0>},
};

/// Ops with state or effects. References count as what they refer to.
inline constexpr std::array kStateOps{
    OpDef{"ApplyAdagrad", "T T T T -> T", shape_rules::like<0>},
    OpDef{"ApplyAdam", "T T T T T T T T T T -> T", shape_rules::like<0>},
    OpDef{"ApplyCenteredRMSProp", "T T T T T T T T T -> T", shape_rules::like<0>},
    OpDef{"ApplyGradientDescent", "T T T -> T", shape_rules::like<0>},
    OpDef{"ApplyMomentum", "T T T T T -> T", shape_rules::like<0>},
    OpDef{"ApplyRMSProp", "T T T T T T T T -> T", shape_rules::like<0>},
    OpDef{"Assign", "T T -> T", shape_rules::like<0>},
    OpDef{"AssignAdd", "T T -> T", shape_rules::like<0>},
    OpDef{"AssignSub", "T T -> T", shape_rules::like<0>},
    OpDef{"FIFOQueueV2", "-> resource", shape_rules::scalar},
    OpDef{"HistogramSummary", "string T -> string", shape_rules::scalar},
    OpDef{"ImageSummary", "string T -> string", shape_rules::scalar},
    OpDef{"IsVariableInitialized", "dtype -> bool", shape_rules::scalar},
    OpDef{"IteratorGetNext", "resource -> output_types", shape_rules::attr_output_shapes},
    OpDef{"IteratorV2", "-> resource", shape_rules::scalar},
    OpDef{"MergeSummary", "N*string -> string", shape_rules::scalar},
    OpDef{"QueueCloseV2", "resource ->"},
    OpDef{"QueueDequeueManyV2", "resource int32 -> component_types", shape_rules::queue_elements},
    OpDef{"QueueDequeueV2", "resource -> component_types", shape_rules::queue_element},
    OpDef{"QueueEnqueueManyV2", "resource Tcomponents ->"},
    OpDef{"QueueEnqueueV2", "resource Tcomponents ->"},
    OpDef{"QueueSizeV2", "resource -> int32", shape_rules::scalar},
    OpDef{"ScalarSummary", "string T -> string", shape_rules::scalar},
    OpDef{"ScatterAdd", "T Tindices T -> T", shape_rules::like<0>},
    OpDef{"ScatterSub", "T Tindices T -> T", shape_rules::like<0>},
    OpDef{"ScatterUpdate", "T Tindices T -> T", shape_rules::like<0>},
    OpDef{"TensorSummaryV2", "string T string -> string", shape_rules::scalar},
    OpDef{"VariableV2", "-> dtype", shape_rules::attr_shape},
};

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
inline AttrValue nhwc_attr() { return std::string("NHWC"); }

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
[[nodiscard]] inline const OpDef* find_op_def(std::string_view type, std::span<const OpDef> extra = {}) noexcept {
  using Group = std::span<const OpDef>;
  for (const Group group :
       {extra, Group(detail::kElementwiseOps), Group(detail::kArrayOps), Group(detail::kNetworkOps), Group(detail::kStateOps)}) {
    const auto found = std::ranges::find(group, type, &OpDef::type);
    if (found != group.end()) return &*found;
  }
  return nullptr;
}

}  // namespace trainhook
