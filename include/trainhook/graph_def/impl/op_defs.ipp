// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of op_defs.hpp.
#pragma once

#include <trainhook/graph_def/op_defs.hpp>

#include <algorithm>

namespace trainhook::detail {

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

TRAINHOOK_DECL AttrValue nhwc_attr() { return std::string("NHWC"); }

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL const OpDef* find_op_def(std::string_view type, std::span<const OpDef> extra) noexcept {
  using Group = std::span<const OpDef>;
  for (const Group group : {extra, Group(detail::kElementwiseOps), Group(detail::kArrayOps), Group(detail::kNetworkOps),
                            Group(detail::kStateOps)}) {
    const auto found = std::ranges::find(group, type, &OpDef::type);
    if (found != group.end()) return &*found;
  }
  return nullptr;
}

}  // namespace trainhook
