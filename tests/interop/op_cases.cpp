// SPDX-License-Identifier: Apache-2.0
/// @file
/// The cases of op_cases.hpp that no other file has: ops without state.
#include "op_cases.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace op_cases {
namespace {

using th::DType;
using th::Output;
using th::Shape;
using Ints = std::vector<std::int64_t>;
using Cases = std::vector<CaseDef>;

void add_unary(Cases& cases) {
  using Build = Output (*)(Output, std::string_view);
  struct Row {
    const char* op;
    Build build;
    double low = -3;
    double high = 3;
  };
  for (const Row& row : std::initializer_list<Row>{{"Abs", th::abs},
                                                   {"Neg", th::negative},
                                                   {"Sign", th::sign},
                                                   {"Square", th::square},
                                                   {"Exp", th::exp},
                                                   {"Log", th::log, 0.5},
                                                   {"Log1p", th::log1p, -0.5},
                                                   {"Sqrt", th::sqrt, 0.5},
                                                   {"Rsqrt", th::rsqrt, 0.5},
                                                   {"Sin", th::sin},
                                                   {"Cos", th::cos},
                                                   {"Reciprocal", th::reciprocal, 0.5},
                                                   {"Floor", th::floor},
                                                   {"Relu", th::relu},
                                                   {"Relu6", th::relu6, -3, 9},
                                                   {"Elu", th::elu},
                                                   {"Softplus", th::softplus},
                                                   {"Tanh", th::tanh},
                                                   {"Sigmoid", th::sigmoid},
                                                   {"ZerosLike", th::zeros_like},
                                                   {"OnesLike", th::ones_like},
                                                   {"Softmax", th::softmax},
                                                   {"LogSoftmax", th::log_softmax},
                                                   {"L2Loss", th::l2_loss},
                                                   {"Identity", th::identity},
                                                   {"StopGradient", th::stop_gradient}}) {
    cases.push_back({row.op, [row](Case& c) { c.out(row.build(c.in({3, 5}, row.low, row.high), {})); }});
  }
  for (const auto& [op, build] : std::initializer_list<std::pair<const char*, Build>>{
           {"IsFinite", th::is_finite}, {"IsNan", th::is_nan}, {"IsInf", th::is_inf}}) {
    cases.push_back({op, [build = build](Case& c) { c.out(build(th::log(c.in({4, 5}, -1, 1)), {})); }});
  }
  for (const char* op : {"SqrtGrad", "RsqrtGrad", "ReciprocalGrad"})
    cases.push_back({op, [=](Case& c) { c.out(c.raw(op, {c.in({3, 5}, 0.5, 3), c.in({3, 5})}, {{"T", c.dtype}})); }});
  for (const auto& [op, build] : std::initializer_list<std::pair<const char*, Build>>{
           {"Sqrt", th::sqrt}, {"Rsqrt", th::rsqrt}, {"Reciprocal", th::reciprocal}}) {
    cases.push_back({op, [build = build](Case& c) {  // zeros and negative numbers are not chosen
                       const Output x = c.in_as(c.dtype, {4, 5}, -2, 2);
                       const Output floors = th::relu(x);
                       c.out(th::where(th::greater(floors, 0), build(floors, {}), 0));
                     }});
  }
  cases.push_back({"LeakyRelu", [](Case& c) { c.out(th::leaky_relu(c.in({3, 5}), 0.3F)); }});
  cases.push_back({"CheckNumerics", [](Case& c) { c.out(th::check_numerics(c.in({3, 5}), "not a number")); }});
  cases.push_back(
      {"LogicalNot", [](Case& c) { c.out(th::logical_not(c.in_as(DType::Bool, {7}))); }, Mode::Values, false});
  for (const DType to : {DType::Float, DType::Double, DType::Int32, DType::Int64, DType::UInt8, DType::Bool}) {
    cases.push_back({"Cast", [to](Case& c) { c.out(th::cast(c.in({3, 5}, 0, 90), to)); }});
  }
}

void add_binary(Cases& cases) {
  using Build = Output (*)(const th::Operand&, const th::Operand&, std::string_view);
  struct Row {
    const char* op;
    Build build;
    double low = -3;
    double high = 3;
  };
  for (const Row& row : std::initializer_list<Row>{{"AddV2", th::add},
                                                   {"Sub", th::subtract},
                                                   {"Mul", th::multiply},
                                                   {"RealDiv", th::divide, 0.6},
                                                   {"FloorDiv", th::floordiv, 0.6},
                                                   {"FloorMod", th::floormod, 0.6},
                                                   {"SquaredDifference", th::squared_difference},
                                                   {"Maximum", th::maximum},
                                                   {"Minimum", th::minimum},
                                                   {"Equal", th::equal},
                                                   {"NotEqual", th::not_equal},
                                                   {"Less", th::less},
                                                   {"LessEqual", th::less_equal},
                                                   {"Greater", th::greater},
                                                   {"GreaterEqual", th::greater_equal}}) {
    for (const auto& [left, right] :
         {std::pair<Shape, Shape>{{2, 3}, {2, 3}}, {{2, 1, 3}, {4, 1}}, {{}, {5}}, {{3, 4}, {4}}, {{0, 3}, {3}}}) {
      cases.push_back({row.op, [row, left = left, right = right](Case& c) {
                         c.out(row.build(c.in(left), c.in(right, row.low, row.high), {}));
                       }});
    }
  }
  cases.push_back({"Pow", [](Case& c) { c.out(th::pow(c.in({3, 4}, 0.5, 3), c.in({4}, 0, 3))); }});
  for (const auto& [op, build] : {std::pair{"LogicalAnd", &th::logical_and}, {"LogicalOr", &th::logical_or}}) {
    cases.push_back({op,
                     [build = build](Case& c) {
                       c.out(build(c.in_as(DType::Bool, {3, 4}), c.in_as(DType::Bool, {4}), {}));
                     },
                     Mode::Values, false});
  }
  cases.push_back({"Add", [](Case& c) { c.out(c.raw("Add", {c.in({3, 4}), c.in({4})}, {{"T", c.dtype}})); }});
  cases.push_back({"AddN", [](Case& c) { c.out(th::add_n({c.in({3, 4}), c.in({3, 4}), c.in({3, 4})})); }});
  cases.push_back({"BroadcastGradientArgs",
                   [](Case& c) {
                     c.out(c.raw("BroadcastGradientArgs", {c.ints({2, 1, 3}), c.ints({4, 1})}, {{"T", DType::Int32}}));
                   },
                   Mode::Values, false});
  cases.push_back({"BiasAdd", [](Case& c) { c.out(th::bias_add(c.in({2, 3, 4}), c.in({4}))); }});
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{2, 3, 4, 2}}) {
    const auto attrs = [](const Case& c) { return th::Attrs{{"T", c.dtype}, {"data_format", std::string("NCHW")}}; };
    cases.push_back({"BiasAdd", [=](Case& c) { c.out(c.raw("BiasAdd", {c.in(shape), c.in({3})}, attrs(c))); }});
    cases.push_back({"BiasAddGrad", [=](Case& c) { c.out(c.raw("BiasAddGrad", {c.in(shape)}, attrs(c))); }});
  }
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      cases.push_back(
          {"MatMul", [=](Case& c) {
             c.out(th::matmul(c.in(a ? Shape{4, 3} : Shape{3, 4}), c.in(b ? Shape{5, 4} : Shape{4, 5}), {a, b}));
           }});
    }
  }
  cases.push_back({"SelectV2", [](Case& c) {
                     c.out(th::where(c.in_as(DType::Bool, {3, 1}), c.in({3, 4}), c.in({4})));
                   }});
}

void add_reductions(Cases& cases) {
  using Build = Output (*)(Output, const th::ReduceOptions&, std::string_view);
  using Axes = std::optional<Ints>;
  const std::initializer_list<th::ReduceOptions> forms{{.axis = Axes()},
                                                       {.axis = Ints{0}},
                                                       {.axis = Ints{1}, .keep_dims = true},
                                                       {.axis = Ints{0, -1}},
                                                       {.axis = Ints{}}};
  for (const th::ReduceOptions& form : forms) {
    for (const auto& [op, build] : {std::pair<const char*, Build>{"Sum", th::reduce_sum},
                                    {"Mean", th::reduce_mean},
                                    {"Prod", th::reduce_prod},
                                    {"Max", th::reduce_max},
                                    {"Min", th::reduce_min}}) {
      cases.push_back({op, [=, build = build](Case& c) { c.out(build(c.in({2, 3, 4}, 0.5, 3), form, {})); }});
    }
    for (const auto& [op, build] : {std::pair<const char*, Build>{"All", th::reduce_all}, {"Any", th::reduce_any}}) {
      cases.push_back({op,
                       [=, build = build](Case& c) {
                         c.out(build(c.in_as(DType::Bool, {2, 3, 4}), form, {}));
                       },
                       Mode::Values, false});
    }
  }
  for (const auto& [op, build] : {std::pair{"Cumsum", &th::cumsum}, {"Cumprod", &th::cumprod}}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        cases.push_back(
            {op, [=, build = build](Case& c) {
               const std::int64_t axis = exclusive ? 1 : -1;
               c.out(build(c.in({2, 3, 4}, 0.5, 3), {.axis = axis, .exclusive = exclusive, .reverse = reverse}, {}));
             }});
      }
    }
  }
  cases.push_back({"Prod", [](Case& c) {  // some elements are zero
                     c.out(th::reduce_prod(th::relu(c.in({3, 4, 5})), {.axis = Ints{2, 0}}));
                   }});
  for (const DType type : {DType::Int32, DType::UInt8}) {  // whose sum the dtype cannot hold
    for (const std::int64_t axis : {0, 1}) {
      cases.push_back({"Mean",
                       [=](Case& c) {
                         const bool is_small = type == DType::UInt8;
                         c.out(th::reduce_mean(c.in_as(type, {6, 50}, is_small ? 0 : -2e9, is_small ? 255 : 2e9),
                                               {.axis = Ints{axis}}));
                       },
                       Mode::Values, false});
    }
  }
  for (const DType type : {DType::Int32, DType::Int64}) {
    cases.push_back({"ArgMax", [=](Case& c) { c.out(th::argmax(c.in({4, 5, 2}, -9, 9), 1, type)); }});
    cases.push_back({"ArgMin", [=](Case& c) { c.out(th::argmin(c.in({4, 5, 2}, -9, 9), -1, type)); }});
  }
}

void add_array(Cases& cases) {
  cases.push_back({"Const", [](Case& c) { c.out(th::constant(c.graph, c.random_tensor(c.dtype, {2, 3}, -3, 3))); }});
  cases.push_back({"Placeholder", [](Case& c) { c.out(c.in({2, 3})); }});
  cases.push_back(
      {"PlaceholderWithDefault", [](Case& c) {
         c.out(th::placeholder_with_default(th::constant(c.graph, c.random_tensor(c.dtype, {2}, -3, 3)), {-1}));
       }});
  cases.push_back({"NoOp", [](Case& c) {
                     const Output x = c.in({2});
                     c.out(th::with_dependencies({th::group(c.graph, {x.operation()})}, x));
                   }});
  cases.push_back({"Shape", [](Case& c) { c.out(th::shape(c.in({2, 3, 0}))); }});
  cases.push_back({"Size", [](Case& c) { c.out(th::size(c.in({2, 3}))); }});
  cases.push_back({"Reshape", [](Case& c) { c.out(th::reshape(c.in({2, 3, 4}), Ints{4, -1})); }});
  cases.push_back({"Transpose", [](Case& c) { c.out(th::transpose(c.in({2, 3, 4}), {2, 0, 1})); }});
  cases.push_back({"InvertPermutation",
                   [](Case& c) {
                     c.out(c.raw("InvertPermutation", {c.ints({2, 0, 3, 1})}, {{"T", DType::Int32}}));
                   },
                   Mode::Values, false});
  cases.push_back({"ConcatV2", [](Case& c) { c.out(th::concat({c.in({2, 3}), c.in({2, 1}), c.in({2, 0})}, -1)); }});
  cases.push_back({"ConcatV2", [](Case& c) { c.out(th::concat({c.in({2, 3}), c.in({4, 3})}, 0)); }});
  cases.push_back({"ConcatOffset",
                   [](Case& c) {
                     c.out(c.raw("ConcatOffset",
                                 {th::detail::constant_int(c.graph, 1, "axis"), c.ints({2, 3}), c.ints({2, 5})},
                                 {{"N", std::int64_t{2}}, {"shape_type", DType::Int32}}));
                   },
                   Mode::Values, false});
  cases.push_back({"Slice", [](Case& c) { c.out(th::slice(c.in({3, 4, 5}), {1, 0, 2}, {2, 3, -1})); }});
  for (const th::StridedSliceMasks& masks :
       {th::StridedSliceMasks(), th::StridedSliceMasks{.begin = 5, .end = 2}, th::StridedSliceMasks{.new_axis = 2},
        th::StridedSliceMasks{.shrink_axis = 3}, th::StridedSliceMasks{.begin = 7, .end = 7, .shrink_axis = 4},
        th::StridedSliceMasks{.ellipsis = 1}}) {
    cases.push_back({"StridedSlice", [=](Case& c) {
                       c.out(th::strided_slice(c.in({3, 4, 5}), {0, 1, -2}, {2, -1, 9}, {1, 2, 1}, masks));
                     }});
    cases.push_back({"StridedSliceGrad", [=](Case& c) {
                       const Output cut = th::strided_slice(c.in({3, 4, 5}), {0, 1, -2}, {2, -1, 9}, {1, 2, 1}, masks);
                       const th::Attrs& of_cut = cut.node().attrs();
                       const std::vector<Output> bounds(cut.node().inputs().begin() + 1, cut.node().inputs().end());
                       c.out(c.raw("StridedSliceGrad",
                                   {c.ints({3, 4, 5}), bounds[0], bounds[1], bounds[2], c.in(cut.shape().known())},
                                   of_cut));
                     }});
  }
  cases.push_back({"StridedSlice", [](Case& c) {
                     c.out(th::strided_slice(c.in({3, 4, 5}), {-1, 9, 4}, {-9, -9, 0}, {-1, -2, -3}));
                   }});
  cases.push_back({"StridedSlice", [](Case& c) { c.out(th::strided_slice(c.in({3, 4}), {2}, {1}, {1})); }});
  cases.push_back(
      {"StridedSlice", [](Case& c) {
         c.out(th::strided_slice(c.in({3, 4}), {0, 0, 1}, {0, 0, 2}, {1, 1, 1}, {.ellipsis = 2, .new_axis = 1}));
       }});
  cases.push_back({"Rank", [](Case& c) { c.out(th::rank(c.in({2, 3, 1}))); }});
  for (const auto& [start, limit, delta] : {std::array{2, 11, 3}, std::array{7, -4, -2}, std::array{4, 4, 1}}) {
    cases.push_back({"Range", [=, start = start, limit = limit, delta = delta](Case& c) {
                       const auto number = [&](int value) {
                         return th::cast(th::detail::constant_int(c.graph, value, "n"), c.dtype);
                       };
                       c.out(th::range(number(start), number(limit), number(delta)));
                     }});
  }
  for (const DType type : {DType::Int32, DType::Int64}) {
    cases.push_back({"Unique", [=](Case& c) {
                       c.out(c.raw("Unique", {c.in({12}, -3, 3)}, {{"T", c.dtype}, {"out_idx", type}}));
                     }});
  }
  for (const char* const op : {"UniqueV2", "UniqueWithCountsV2"}) {
    for (const Ints& axis : {Ints{}, Ints{0}}) {
      cases.push_back({op, [=](Case& c) {
                         c.out(c.raw(op, {c.in({12}, -3, 3), th::detail::constant_ints(c.graph, axis, "axis")},
                                     {{"T", c.dtype}, {"Taxis", DType::Int32}, {"out_idx", DType::Int64}}));
                       }});
    }
  }
  cases.push_back({"DynamicStitch", [](Case& c) {
                     c.out(c.raw("DynamicStitch", {c.ints({3, 0}), c.ints({1, 2, 0}), c.in({2, 4}), c.in({3, 4})},
                                 {{"N", std::int64_t{2}}, {"T", c.dtype}}));
                   }});
  cases.push_back({"Pad", [](Case& c) { c.out(th::pad(c.in({2, 3}), {{1, 0}, {2, 3}})); }});
  cases.push_back({"Pack", [](Case& c) { c.out(th::stack({c.in({2, 3}), c.in({2, 3})}, 1)); }});
  cases.push_back({"Unpack", [](Case& c) {
                     c.out(c.raw("Unpack", {c.in({2, 3, 4})},
                                 {{"T", c.dtype}, {"axis", std::int64_t{1}}, {"num", std::int64_t{3}}}));
                   }});
  cases.push_back({"Tile", [](Case& c) { c.out(th::tile(c.in({2, 3}), {3, 2})); }});
  cases.push_back({"Fill", [](Case& c) { c.out(th::fill(c.ints({2, 3}), c.in({}))); }});
  cases.push_back({"BroadcastTo", [](Case& c) { c.out(th::broadcast_to(c.in({3, 1}), c.ints({2, 3, 4}))); }});
  for (const DType type : {DType::Int32, DType::Int64}) {
    cases.push_back({"GatherV2", [=](Case& c) { c.out(th::gather(c.in({6, 3}), c.in_as(type, {2, 4}, 0, 5))); }});
    cases.push_back({"GatherV2", [=](Case& c) { c.out(th::gather(c.in({2, 6, 3}), c.in_as(type, {4}, 0, 5), 1)); }});
    cases.push_back({"UnsortedSegmentSum", [=](Case& c) {
                       c.out(c.raw("UnsortedSegmentSum",
                                   {c.in({5, 2}), c.in_as(type, {5}, -1, 3), th::detail::constant_int(c.graph, 4, "n")},
                                   {{"T", c.dtype}, {"Tindices", type}, {"Tnumsegments", DType::Int32}}));
                     }});
  }
  cases.push_back({"ExpandDims", [](Case& c) { c.out(th::expand_dims(c.in({2, 3}), 1)); }});
  cases.push_back({"Squeeze", [](Case& c) { c.out(th::squeeze(c.in({1, 2, 1, 3}), {2})); }});
  cases.push_back({"Squeeze", [](Case& c) { c.out(th::squeeze(c.in({1, 2, 1, 3}))); }});
  for (const DType type : {DType::UInt8, DType::Int32, DType::Int64}) {
    cases.push_back({"OneHot", [=](Case& c) {
                       c.out(th::one_hot(c.in_as(type, {2, 3}, 0, 6), 5,
                                         {.on_value = 3, .off_value = 1, .dtype = c.dtype, .axis = 1}));
                     }});
  }
}

void add_network(Cases& cases) {
  for (const th::Padding padding : {th::Padding::Same, th::Padding::Valid}) {
    for (const std::int64_t stride : {1, 2}) {
      cases.push_back(
          {"Conv2D", [=](Case& c) {
             c.out(th::conv2d(c.in({2, 7, 6, 3}), c.in({3, 2, 3, 4}), {.strides = {stride, 1}, .padding = padding}));
           }});
      cases.push_back({"Conv2D", [=](Case& c) {
                         c.out(th::conv2d(c.in({2, 5, 4, 3}), c.in({1, 1, 3, 2}),
                                          {.strides = {stride, stride}, .padding = padding}));
                       }});
      const th::PoolOptions pool{.ksize = {3, 2}, .strides = {stride, 2}, .padding = padding};
      cases.push_back({"MaxPool", [=](Case& c) { c.out(th::max_pool(c.in({2, 7, 6, 3}), pool)); }});
      cases.push_back({"AvgPool", [=](Case& c) { c.out(th::avg_pool(c.in({2, 7, 6, 3}), pool)); }});
    }
  }
  for (const DType labels : {DType::Int32, DType::Int64}) {
    cases.push_back({"SparseSoftmaxCrossEntropyWithLogits", [=](Case& c) {
                       c.out(th::sparse_softmax_cross_entropy_with_logits(c.in_as(labels, {4}, 0, 4), c.in({4, 5})));
                     }});
  }
  cases.push_back({"SoftmaxCrossEntropyWithLogits", [](Case& c) {
                     const Output logits = c.in({4, 5});
                     c.out(th::softmax_cross_entropy_with_logits(th::softmax(c.in({4, 5})), logits));
                   }});
  cases.push_back({"SoftmaxCrossEntropyWithLogits", [](Case& c) {
                     c.out(th::softmax_cross_entropy_with_logits_v2(th::softmax(c.in({4, 5})), c.in({4, 5})));
                   }});
  for (const Shape& condition : {Shape{}, Shape{3}, Shape{3, 4}}) {
    cases.push_back(
        {"Select", [=](Case& c) {
           c.out(c.raw("Select", {c.in_as(DType::Bool, condition), c.in({3, 4}), c.in({3, 4})}, {{"T", c.dtype}}));
         }});
  }
  cases.push_back({"ShapeN", [](Case& c) {
                     c.out(c.raw("ShapeN", {c.in({2, 3}), c.in({4})},
                                 {{"N", std::int64_t{2}}, {"T", c.dtype}, {"out_type", DType::Int64}}));
                   }});
  cases.push_back({"ReluGrad", [](Case& c) {
                     c.out(c.raw("ReluGrad", {c.in({3, 4}), c.in({3, 4})}, {{"T", c.dtype}}));
                   }});
  cases.push_back(
      {"BiasAddGrad", [](Case& c) {
         c.out(c.raw("BiasAddGrad", {c.in({2, 3, 4})}, {{"T", c.dtype}, {"data_format", std::string("NHWC")}}));
       }});
}

}  // namespace

std::vector<CaseDef> all_cases() {
  Cases cases;
  add_unary(cases);
  add_binary(cases);
  add_reductions(cases);
  add_array(cases);
  add_network(cases);
  add_extremes(cases);
  add_stateful_ops(cases);
  add_model_ops(cases);
  add_tutorial_ops(cases);
  return cases;
}

}  // namespace op_cases
