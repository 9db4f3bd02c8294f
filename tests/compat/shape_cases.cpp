// SPDX-License-Identifier: Apache-2.0
/// @file
/// The cases of shape_cases.hpp.
#include "shape_cases.hpp"

#include <array>
#include <initializer_list>

#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/model/ops/training.hpp>

namespace shape_cases {
namespace {

using th::DType;
using th::Output;
using Cases = std::vector<ShapeCase>;

/// Two inputs for each pair of shapes: some fit by broadcasting, some do not.
std::vector<std::vector<In>> pairs(DType dtype, DType other) {
  const std::vector<std::pair<In, In>> shapes{
      {in(Dims{3, 4}, dtype), in(Dims{4}, dtype)},   {in(Dims{-1, 4}, dtype), in(Dims{3, 1}, dtype)},
      {in(Dims{3, 4}, dtype), in(Dims{}, dtype)},    {any(dtype), in(Dims{3}, dtype)},
      {in(Dims{-1}, dtype), in(Dims{-1}, dtype)},    {in(Dims{-1}, dtype), in(Dims{1}, dtype)},
      {in(Dims{3, 4}, dtype), in(Dims{3}, dtype)},   {in(Dims{2, -1, 4}, dtype), in(Dims{3, 1, 1}, dtype)},
      {in(Dims{3, 4}, dtype), in(Dims{3, 4}, other)}};
  std::vector<std::vector<In>> result;
  for (const auto& [left, right] : shapes) result.push_back({left, right});
  return result;
}

void add_elementwise(Cases& cases) {
  using Unary = Output (*)(Output, std::string_view);
  for (const auto& [op, build] :
       std::initializer_list<std::pair<const char*, Unary>>{{"Abs", th::abs},
                                                            {"Cos", th::cos},
                                                            {"Elu", th::elu},
                                                            {"Exp", th::exp},
                                                            {"Floor", th::floor},
                                                            {"Identity", th::identity},
                                                            {"IsFinite", th::is_finite},
                                                            {"IsInf", th::is_inf},
                                                            {"IsNan", th::is_nan},
                                                            {"L2Loss", th::l2_loss},
                                                            {"Log", th::log},
                                                            {"Log1p", th::log1p},
                                                            {"LogSoftmax", th::log_softmax},
                                                            {"Neg", th::negative},
                                                            {"OnesLike", th::ones_like},
                                                            {"Rank", th::rank},
                                                            {"Reciprocal", th::reciprocal},
                                                            {"Relu", th::relu},
                                                            {"Relu6", th::relu6},
                                                            {"Rsqrt", th::rsqrt},
                                                            {"Shape", th::shape},
                                                            {"Sigmoid", th::sigmoid},
                                                            {"Sign", th::sign},
                                                            {"Sin", th::sin},
                                                            {"Size", th::size},
                                                            {"Softmax", th::softmax},
                                                            {"Softplus", th::softplus},
                                                            {"Sqrt", th::sqrt},
                                                            {"Square", th::square},
                                                            {"StopGradient", th::stop_gradient},
                                                            {"Tanh", th::tanh},
                                                            {"ZerosLike", th::zeros_like}}) {
    for (const In& x : {in({3, 4}), in({-1, 4}), any(), in(Dims{}), in({3, 4}, DType::String)})
      cases.push_back({op, {x}, {}, [build = build](const Inputs& i) { return build(i[0], {}); }});
  }
  using Binary = Output (*)(const th::Operand&, const th::Operand&, std::string_view);
  for (const auto& [op, build] :
       std::initializer_list<std::pair<const char*, Binary>>{{"AddV2", th::add},
                                                             {"Equal", th::equal},
                                                             {"FloorDiv", th::floordiv},
                                                             {"FloorMod", th::floormod},
                                                             {"Greater", th::greater},
                                                             {"GreaterEqual", th::greater_equal},
                                                             {"Less", th::less},
                                                             {"LessEqual", th::less_equal},
                                                             {"Maximum", th::maximum},
                                                             {"Minimum", th::minimum},
                                                             {"Mul", th::multiply},
                                                             {"NotEqual", th::not_equal},
                                                             {"Pow", th::pow},
                                                             {"RealDiv", th::divide},
                                                             {"SquaredDifference", th::squared_difference},
                                                             {"Sub", th::subtract}}) {
    for (const auto& inputs : pairs(DType::Float, DType::Int32))
      cases.push_back({op, inputs, {}, [build = build](const Inputs& i) { return build(i[0], i[1], {}); }});
  }
  for (const auto& inputs : pairs(DType::Float, DType::Int32)) {
    cases.push_back({"AddN", inputs, {}, [](const Inputs& i) { return th::add_n({i[0], i[1]}); }});
    cases.push_back({"Pack", inputs, {}, [](const Inputs& i) { return th::stack({i[0], i[1]}); }});
  }
  for (const auto& inputs : pairs(DType::Bool, DType::Float)) {
    cases.push_back({"LogicalAnd", inputs, {}, [](const Inputs& i) { return th::logical_and(i[0], i[1]); }});
    cases.push_back({"LogicalOr", inputs, {}, [](const Inputs& i) { return th::logical_or(i[0], i[1]); }});
  }
  for (const DType dtype : {DType::Bool, DType::Float})
    cases.push_back({"LogicalNot", {in({3, 4}, dtype)}, {}, [](const Inputs& i) { return th::logical_not(i[0]); }});
  cases.push_back({"CheckNumerics", {in({3, -1})}, {{"message", std::string("m")}}, [](const Inputs& i) {
                     return th::check_numerics(i[0], "m");
                   }});
  cases.push_back(
      {"LeakyRelu", {in({3, -1})}, {{"alpha", 0.3F}}, [](const Inputs& i) { return th::leaky_relu(i[0], 0.3F); }});
  for (const In& x : {in({3, -1}), any(), in({2}, DType::String)}) {
    cases.push_back(
        {"Cast", {x}, {{"DstT", DType::Int32}}, [](const Inputs& i) { return th::cast(i[0], DType::Int32); }});
  }
}

void add_array(Cases& cases) {
  const auto add = [&](const char* op, std::vector<In> inputs, th::Attrs attrs,
                       std::function<Output(const Inputs&)> build) {
    cases.push_back({op, std::move(inputs), std::move(attrs), std::move(build)});
  };
  for (const In& x : {in({3, 4}), in({1, 4}), in({4, 1, 3, 1}), in({-1, 1}), any(), in(Dims{})}) {
    for (const Dims& axis : {Dims{}, Dims{0}, Dims{1, -1}, Dims{4}})
      add("Squeeze", {x}, {{"squeeze_dims", axis}}, [=](const Inputs& i) { return th::squeeze(i[0], axis); });
    for (const std::int32_t axis : {0, 2, -1, 5, -6}) {
      add("ExpandDims", {x, number(axis)}, {}, [=](const Inputs& i) { return th::expand_dims(i[0], axis); });
      add("ArgMax", {x, number(axis)}, {{"output_type", DType::Int32}},
          [=](const Inputs& i) { return th::argmax(i[0], axis, DType::Int32); });
      add("ArgMin", {x, number(axis)}, {}, [=](const Inputs& i) { return th::argmin(i[0], axis); });
      add("Cumsum", {x, number(axis)}, {}, [=](const Inputs& i) { return th::cumsum(i[0], {.axis = axis}); });
      add("Cumprod", {x, number(axis)}, {}, [=](const Inputs& i) { return th::cumprod(i[0], {.axis = axis}); });
    }
    for (const std::vector<std::int32_t>& dims :
         {std::vector<std::int32_t>{12}, {-1}, {2, -1}, {4, 3, 1}, {5, -1}, {0, -1}, {}}) {
      const Dims wide(dims.begin(), dims.end());
      add("Reshape", {x, ints(dims)}, {}, [=](const Inputs& i) { return th::reshape(i[0], wide); });
    }
    for (const std::vector<std::int32_t>& perm : {std::vector<std::int32_t>{1, 0}, {0, 3, 1, 2}, {0, 2}, {0}, {}}) {
      if (perm.empty()) continue;  // the builder reverses the dimensions then
      const Dims wide(perm.begin(), perm.end());
      add("Transpose", {x, ints(perm)}, {}, [=](const Inputs& i) { return th::transpose(i[0], wide); });
    }
    for (const auto& [axes, keep] :
         {std::pair<std::vector<std::int32_t>, bool>{{0}, false}, {{0, -1}, true}, {{}, false}, {{3}, true}}) {
      const th::ReduceOptions options{.axis = Dims(axes.begin(), axes.end()), .keep_dims = keep};
      using Reduce = Output (*)(Output, const th::ReduceOptions&, std::string_view);
      for (const auto& [op, build] : std::initializer_list<std::pair<const char*, Reduce>>{{"Sum", th::reduce_sum},
                                                                                           {"Mean", th::reduce_mean},
                                                                                           {"Prod", th::reduce_prod},
                                                                                           {"Max", th::reduce_max},
                                                                                           {"Min", th::reduce_min}})
        add(op, {x, ints(axes)}, {{"keep_dims", keep}},
            [=, build = build](const Inputs& i) { return build(i[0], options, {}); });
      In flags = x;
      flags.attrs["dtype"] = DType::Bool;
      add("All", {flags, ints(axes)}, {{"keep_dims", keep}},
          [=](const Inputs& i) { return th::reduce_all(i[0], options); });
      add("Any", {flags, ints(axes)}, {{"keep_dims", keep}},
          [=](const Inputs& i) { return th::reduce_any(i[0], options); });
    }
    for (const std::vector<std::int32_t>& times : {std::vector<std::int32_t>{2, 3}, {1, 1, 1, 2}, {}, {-1, 2}}) {
      const Dims wide(times.begin(), times.end());
      add("Tile", {x, ints(times)}, {}, [=](const Inputs& i) { return th::tile(i[0], wide); });
      std::vector<std::int32_t> amounts;
      std::vector<th::PadAmount> paddings;
      for (const std::int32_t amount : times) {
        amounts.insert(amounts.end(), {amount, 1});
        paddings.push_back({amount, 1});
      }
      add("Pad", {x, ints(amounts, {static_cast<std::int64_t>(times.size()), 2})}, {},
          [=](const Inputs& i) { return th::pad(i[0], paddings); });
    }
    for (const auto& [begin, size] :
         std::initializer_list<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>>{
             {{0, 1}, {1, -1}}, {{0, 2}, {3, 3}}, {{1}, {2}}, {{-1, 0}, {1, 1}}, {{}, {}}}) {
      const Dims from(begin.begin(), begin.end());
      const Dims extents(size.begin(), size.end());
      add("Slice", {x, ints(begin), ints(size)}, {}, [=](const Inputs& i) { return th::slice(i[0], from, extents); });
      Dims end = from;
      for (std::size_t k = 0; k < end.size(); ++k) end[k] += extents[k];
      std::vector<std::int32_t> stop(end.begin(), end.end());
      add("StridedSlice", {x, ints(begin), ints(stop), ints(std::vector<std::int32_t>(begin.size(), 1))}, {},
          [=](const Inputs& i) { return th::strided_slice(i[0], from, end, Dims(from.size(), 1)); });
      add("StridedSlice", {x, ints(begin), ints(stop), ints(std::vector<std::int32_t>(begin.size(), 1))},
          {{"shrink_axis_mask", std::int64_t{1}}}, [=](const Inputs& i) {
            return th::strided_slice(i[0], from, end, Dims(from.size(), 1), {.shrink_axis = 1});
          });
    }
    add("BroadcastTo", {x, ints({2, 3, 4})}, {}, [](const Inputs& i) { return th::broadcast_to(i[0], i[1]); });
    for (const In& ids : {in({5}, DType::Int32), in({-1, 2}, DType::Int64), any(DType::Int32), in({2})}) {
      for (const std::int32_t axis : {0, 1, -1, 4})
        add("GatherV2", {x, ids, number(axis)}, {}, [=](const Inputs& i) { return th::gather(i[0], i[1], axis); });
    }
    for (const In& y : {in({3, 4}), in({2, 4}), in({-1, 4}), any(), in(Dims{})}) {
      for (const std::int32_t axis : {0, -1, 3})
        add("ConcatV2", {x, y, number(axis)}, {}, [=](const Inputs& i) { return th::concat({i[0], i[1]}, axis); });
      add("Pack", {x, y}, {{"axis", std::int64_t{-1}}}, [](const Inputs& i) { return th::stack({i[0], i[1]}, -1); });
      const bool is_matrix = std::get<th::PartialShape>(x.attrs.at("shape")) != th::PartialShape{4, 1, 3, 1};
      if (!is_matrix) cases.push_back({"MatMul", {x, y}});  // the builder adds a product of batches
      if (is_matrix) add("MatMul", {x, y}, {}, [](const Inputs& i) { return th::matmul(i[0], i[1]); });
      if (is_matrix) {
        add("MatMul", {x, y}, {{"transpose_a", true}, {"transpose_b", true}},
            [](const Inputs& i) { return th::matmul(i[0], i[1], {.transpose_a = true, .transpose_b = true}); });
      }
      for (const In& condition : {in({3, 1}, DType::Bool), in({4}, DType::Bool), in(Dims{}, DType::Bool), in({3})}) {
        add("SelectV2", {condition, x, y}, {}, [](const Inputs& i) { return th::where(i[0], i[1], i[2]); });
        cases.push_back({"Select", {condition, x, y}});
      }
      add("BiasAdd", {x, y}, {}, [](const Inputs& i) { return th::bias_add(i[0], i[1]); });
      add("SoftmaxCrossEntropyWithLogits", {x, y}, {},
          [](const Inputs& i) { return th::softmax_cross_entropy_with_logits(i[1], i[0]); });
    }
    for (const In& bias : {in({4}), in({3}), any()})
      add("BiasAdd", {x, bias}, {}, [](const Inputs& i) { return th::bias_add(i[0], i[1]); });
    for (const In& labels : {in({3}, DType::Int32), in({5}, DType::Int64), in({3, 1}, DType::Int32), in({3})}) {
      add("SparseSoftmaxCrossEntropyWithLogits", {x, labels}, {},
          [](const Inputs& i) { return th::sparse_softmax_cross_entropy_with_logits(i[1], i[0]); });
    }
    for (const std::int64_t axis : {0, -1, 4})
      cases.push_back({"Unpack", {x}, {{"axis", axis}, {"num", std::int64_t{3}}}});
    for (const In& ids : {in({3}, DType::Int32), in({3, 4}, DType::Int32), in({5}, DType::Int32)})
      cases.push_back({"UnsortedSegmentSum", {x, ids, number(7)}});
  }
  for (const auto& [start, limit, delta] :
       {std::array{0, 10, 3}, std::array{5, 0, -2}, std::array{0, 5, -1}, std::array{0, 5, 0}}) {
    add("Range", {number(start), number(limit), number(delta)}, {},
        [](const Inputs& i) { return th::range(i[0], i[1], i[2]); });
  }
  add("Range", {in(Dims{}, DType::Int32), in({2}, DType::Int32), number(1)}, {},
      [](const Inputs& i) { return th::range(i[0], i[1], i[2]); });
  for (const In& indices : {in({3}, DType::Int32), in({-1, 2}, DType::Int64), any(DType::Int32), in({3})}) {
    for (const std::int64_t axis : {-1, 0, 4}) {
      for (const std::int32_t depth : {5, -1}) {
        add("OneHot", {indices, number(depth), constant(th::Tensor(1.0F)), constant(th::Tensor(0.0F))},
            {{"axis", axis}}, [=](const Inputs& i) { return th::one_hot(i[0], depth, {.axis = axis}); });
      }
    }
  }
  for (const In& dims :
       {ints({2, 3}), in({2}, DType::Int32), in({-1}, DType::Int64), in({2, 2}, DType::Int32), ints({2, -5})}) {
    for (const In& value : {in(Dims{}), in({2})})
      add("Fill", {dims, value}, {}, [](const Inputs& i) { return th::fill(i[0], i[1]); });
    const th::Attrs seeds{{"dtype", DType::Float}, {"seed", std::int64_t{1}}};
    for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"})
      cases.push_back({op, {dims}, seeds});
    cases.push_back({"RandomUniformInt", {dims, number(0), number(9)}});
    cases.push_back({"RandomUniformInt", {dims, ints({0}), number(9)}});
  }
  const th::Attrs candidates{
      {"num_true", std::int64_t{2}},   {"num_sampled", std::int64_t{6}}, {"unique", true},
      {"range_max", std::int64_t{10}}, {"seed", std::int64_t{87654321}},  // of a graph without a seed
      {"seed2", std::int64_t{1}}};
  // Only a graph that is read may leave the number of columns open.
  cases.push_back({"LogUniformCandidateSampler", {any(DType::Int64)}, candidates});
  for (const In& classes : {in({4, 2}, DType::Int64), in({-1, 2}, DType::Int64), in({2}, DType::Int64)})
    cases.push_back({"LogUniformCandidateSampler", {classes}, candidates, [](const Inputs& i) {
                       return th::log_uniform_candidate_sampler(i[0], {.num_sampled = 6, .range_max = 10, .seed = 1})
                           .sampled_candidates;
                     }});
  cases.push_back({"StridedSliceGrad", {ints({3, 4}), ints({0, 0}), ints({1, 1}), ints({1, 1}), in({1, 1})}});
  for (const In& other : {ints({2, 5}), ints({2}), in({-1}, DType::Int32)})
    cases.push_back({"ConcatOffset", {number(1), ints({2, 3}), other}, {{"N", std::int64_t{2}}}});
  cases.push_back({"DynamicStitch",
                   {in({3}, DType::Int32), in({2}, DType::Int32), in({3, 4}), in({2, 4})},
                   {{"N", std::int64_t{2}}}});
  for (const In& value : {in({2, 3}), in({2}), any()}) {
    for (const th::PartialShape& shape : {th::PartialShape{-1, 3}, th::PartialShape()}) {
      add("PlaceholderWithDefault", {value}, {{"shape", shape}},
          [=](const Inputs& i) { return th::placeholder_with_default(i[0], shape); });
    }
  }
}

void add_conv(Cases& cases) {
  const Dims one{1, 1, 1, 1};
  const Dims two{1, 2, 3, 1};
  for (const In& x : {in({2, 7, 8, 3}), in({-1, -1, 8, 3}), any(), in({2, 7, 8}), in({2, 2, 2, 4})}) {
    for (const bool same : {true, false}) {
      const th::Padding padding = same ? th::Padding::Same : th::Padding::Valid;
      const std::string name = same ? "SAME" : "VALID";
      for (const In& filter : {in({3, 2, 3, 5}), in({-1, 2, 3, 5}), any(), in({3, 3, 3})}) {
        cases.push_back({"Conv2D", {x, filter}, {{"padding", name}, {"strides", two}}, [=](const Inputs& i) {
                           return th::conv2d(i[0], i[1], {.strides = {2, 3}, .padding = padding});
                         }});
      }
      const th::Attrs attrs{{"padding", name}, {"ksize", two}, {"strides", two}};
      const th::PoolOptions options{.ksize = {2, 3}, .strides = {2, 3}, .padding = padding};
      cases.push_back({"MaxPool", {x}, attrs, [=](const Inputs& i) { return th::max_pool(i[0], options); }});
      cases.push_back({"AvgPool", {x}, attrs, [=](const Inputs& i) { return th::avg_pool(i[0], options); }});
    }
  }
  const In x = in({2, 7, 8, 3});
  for (const Dims& strides : {Dims{1, 0, 1, 1}, Dims{1, 2}}) {
    cases.push_back({"Conv2D", {x, in({3, 2, 3, 5})}, {{"padding", std::string("SAME")}, {"strides", strides}}});
    cases.push_back({"MaxPool", {x}, {{"padding", std::string("SAME")}, {"ksize", one}, {"strides", strides}}});
  }
  cases.push_back({"Conv2D",
                   {x, in({3, 2, 3, 5})},
                   {{"padding", std::string("VALID")}, {"strides", one}, {"dilations", Dims{1, 2, 3, 1}}}});
  const th::Attrs conv{{"padding", std::string("SAME")}, {"strides", one}};
  cases.push_back({"Conv2DBackpropInput", {ints({2, 7, 8, 3}), in({3, 2, 3, 5}), in({2, 7, 8, 5})}, conv});
  cases.push_back({"Conv2DBackpropFilter", {x, ints({3, 2, 3, 5}), in({2, 7, 8, 5})}, conv});
  const th::Attrs pool{{"padding", std::string("SAME")}, {"ksize", one}, {"strides", one}};
  cases.push_back({"MaxPoolGrad", {x, x, x}, pool});
  cases.push_back({"AvgPoolGrad", {ints({2, 7, 8, 3}), x}, pool});
}

th::Variable variable_of(const Output& ref) {
  th::Variable variable;
  variable.handle = ref.operation();
  return variable;
}

void add_state(Cases& cases) {
  cases.push_back({"Const", {}, {{"dtype", DType::Float}, {"value", th::Tensor(th::DType::Float, th::Shape{2, 3})}}});
  cases.push_back({"Const", {}, {{"dtype", DType::Float}, {"value", th::Tensor(std::int32_t{1})}}});
  const In v = variable({2, 3});
  for (const In& value : {in({2, 3}), in({-1, 3}), any(), in({3, 2}), in({2, 3}, DType::Double)}) {
    const th::Attrs unlocked{{"use_locking", false}};
    cases.push_back(
        {"Assign", {v, value}, unlocked, [](const Inputs& i) { return th::assign(variable_of(i[0]), i[1]); }});
    cases.push_back(
        {"AssignAdd", {v, value}, {}, [](const Inputs& i) { return th::assign_add(variable_of(i[0]), i[1]); }});
    cases.push_back(
        {"AssignSub", {v, value}, {}, [](const Inputs& i) { return th::assign_sub(variable_of(i[0]), i[1]); }});
    const In rate = in(Dims{});
    const auto add_update = [&](const char* op, std::size_t slots, std::vector<In> numbers, auto update) {
      std::vector<In> inputs(1 + slots, v);
      inputs.insert(inputs.end(), numbers.begin(), numbers.end());
      cases.push_back({op, inputs});
      if (value.attrs == in({2, 3}, DType::Double).attrs) return;  // the builder casts it
      cases.back().build = [=](const Inputs& i) {
        const auto first_number = i.begin() + 1 + static_cast<std::ptrdiff_t>(slots);
        return update(variable_of(i[0]), Inputs(i.begin() + 1, first_number), Inputs(first_number, i.end()), {});
      };
    };
    add_update("ApplyGradientDescent", 0, {rate, value}, th::detail::apply_gradient_descent);
    add_update("ApplyMomentum", 1, {rate, value, rate}, th::detail::apply_momentum);
    add_update("ApplyAdagrad", 1, {rate, value}, th::detail::apply_adagrad);
    add_update("ApplyAdam", 2, {rate, rate, rate, rate, rate, rate, value}, th::detail::apply_adam);
    add_update("ApplyRMSProp", 2, {rate, rate, rate, rate, value}, th::detail::apply_rms_prop);
    add_update("ApplyCenteredRMSProp", 3, {rate, rate, rate, rate, value}, th::detail::apply_centered_rms_prop);
    add_update("ApplyGradientDescent", 0, {value, in({2, 3})}, th::detail::apply_gradient_descent);
  }
  cases.push_back({"IsVariableInitialized", {v}, {}, [](const Inputs& i) {
                     return th::is_variable_initialized(variable_of(i[0]));
                   }});
  for (const char* op : {"ScatterAdd", "ScatterSub", "ScatterUpdate"}) {
    for (const In& updates : {in({4, 3}), in({4, 2}), in(Dims{}), any(), in({3})})
      cases.push_back({op, {v, in({4}, DType::Int32), updates}});
  }
  const th::Attrs components{{"component_types", std::vector<DType>{DType::Float}},
                             {"shapes", std::vector<th::PartialShape>{th::PartialShape{2}}}};
  const In queue{"FIFOQueueV2", components};
  const th::Attrs types{{"component_types", std::vector<DType>{DType::Float}}};
  cases.push_back({"FIFOQueueV2", {}, components});
  const auto queue_beside = [](const Inputs& i) { return th::FIFOQueue(i[0].graph(), -1, {DType::Float}, {{2}}); };
  cases.push_back({"QueueCloseV2", {queue}, {}, [=](const Inputs& i) { return queue_beside(i).close(); }});
  cases.push_back({"QueueSizeV2", {queue}, {}, [=](const Inputs& i) { return queue_beside(i).size(); }});
  cases.push_back({"QueueDequeueV2", {queue}, types, [=](const Inputs& i) { return queue_beside(i).dequeue()[0]; }});
  for (const In& count : {number(3), in(Dims{}, DType::Int32), ints({3}), in(Dims{})})
    cases.push_back({"QueueDequeueManyV2", {queue, count}, types, [=](const Inputs& i) {
                       return queue_beside(i).dequeue_many(i[1])[0];
                     }});
  const th::Attrs given{{"Tcomponents", std::vector<DType>{DType::Float}}};
  cases.push_back(
      {"QueueEnqueueV2", {queue, in({2})}, given, [=](const Inputs& i) { return queue_beside(i).enqueue({i[1]}); }});
  cases.push_back({"QueueEnqueueManyV2", {queue, in({4, 2})}, given, [=](const Inputs& i) {
                     return queue_beside(i).enqueue_many({i[1]});
                   }});
  const In tag = constant(th::Tensor("tag"));
  for (const In& value : {in(Dims{}), in({2}, DType::String)}) {
    cases.push_back(
        {"ScalarSummary", {tag, value}, {}, [](const Inputs& i) { return th::summary::scalar("tag", i[1]); }});
    cases.push_back(
        {"HistogramSummary", {tag, value}, {}, [](const Inputs& i) { return th::summary::histogram("tag", i[1]); }});
  }
  for (const In& image : {in({2, 7, 8, 3}), in({2, 7, 8, 3}, DType::Int32)})
    cases.push_back(
        {"ImageSummary", {tag, image}, {}, [](const Inputs& i) { return th::summary::image("tag", i[1]); }});
  cases.push_back({"MergeSummary", {tag, tag}, {}, [](const Inputs& i) { return th::summary::merge(i); }});
}

}  // namespace

std::vector<ShapeCase> all_shape_cases() {
  Cases cases = generated_shape_cases();
  add_elementwise(cases);
  add_array(cases);
  add_conv(cases);
  add_state(cases);
  add_model_shapes(cases);
  add_tutorial_shapes(cases);
  return cases;
}

}  // namespace shape_cases
