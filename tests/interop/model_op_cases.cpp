// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cases of ops that imported models use.
#include "op_cases.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
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

void add_functions(Cases& cases) {
  cases.push_back({"Erf", [](Case& c) { c.out(th::erf(c.in({3, 5}))); }});
  for (const auto& [left, right] : {std::pair<Shape, Shape>{{2, 3}, {2, 3}}, {{2, 1, 3}, {4, 1}}, {{}, {5}}}) {
    cases.push_back({"DivNoNan", [left = left, right = right](Case& c) {
                       c.out(th::divide_no_nan(c.in(left), c.in(right, 0.6, 3)));
                     }});
  }
  cases.push_back({"DivNoNan", [](Case& c) {  // zeros in the divisor
                     const Output y = th::relu(c.in_as(c.dtype, {4, 5}));
                     c.is_smooth = false;
                     c.out(th::divide_no_nan(c.in({4, 5}), y));
                   }});
}

void add_parts(Cases& cases) {
  cases.push_back({"Split", [](Case& c) { c.out(th::split(c.in({4, 6}), 3, 1)); }});
  cases.push_back({"Split", [](Case& c) { c.out(th::split(c.in({4, 6}), 2)[1]); }});  // one part has no gradient
  cases.push_back({"SplitV", [](Case& c) { c.out(th::split(c.in({5, 6}), {1, -1, 2}, -1)); }});
  for (const Ints& axis : {Ints{0}, Ints{-1, 0}, Ints{}})
    cases.push_back({"ReverseV2", [axis](Case& c) { c.out(th::reverse(c.in({3, 2, 4}), axis)); }});
  cases.push_back({"InvertPermutation",
                   [](Case& c) {
                     const Output order = th::constant(c.graph, th::Tensor::of<std::int64_t>({2, 0, 3, 1}));
                     c.out(c.raw("InvertPermutation", {order}, {{"T", DType::Int64}}));
                   },
                   Mode::Values, false});
}

void add_products(Cases& cases) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      cases.push_back({"BatchMatMulV2", [=](Case& c) {
                         c.out(th::matmul(c.in(a ? Shape{2, 4, 3} : Shape{2, 3, 4}),
                                          c.in(b ? Shape{2, 5, 4} : Shape{2, 4, 5}), {a, b}));
                       }});
      cases.push_back({"BatchMatMulV2", [=](Case& c) {
                         c.out(th::matmul(c.in(a ? Shape{2, 1, 4, 3} : Shape{2, 1, 3, 4}),
                                          c.in(b ? Shape{3, 5, 4} : Shape{3, 4, 5}), {a, b}));
                       }});
    }
  }
  cases.push_back({"BatchMatMulV2", [](Case& c) { c.out(th::matmul(c.in({3, 2, 4}), c.in({4, 5}))); }});
}

void add_convolutions(Cases& cases) {
  const std::array<th::WindowSize, 2> around{{{1, 2}, {0, 3}}};
  for (const th::Conv2DOptions& options : std::initializer_list<th::Conv2DOptions>{
           {.padding = th::Padding::Same, .dilations = {2, 2}},
           {.padding = th::Padding::Valid, .dilations = {2, 1}},
           {.padding = th::Padding::Valid, .dilations = {1, 3}},
           {.padding = th::Padding::Explicit, .dilations = {2, 3}, .explicit_paddings = around}}) {
    cases.push_back({"Conv2D", [=](Case& c) {  // TensorFlow has no gradients of dilated ones on a CPU
                       const Output x = th::stop_gradient(c.in({2, 7, 9, 3}));
                       c.out(th::conv2d(x, th::stop_gradient(c.in({3, 2, 3, 4})), options));
                     }});
  }
  for (const th::Conv2DOptions& options : std::initializer_list<th::Conv2DOptions>{
           {.padding = th::Padding::Explicit, .explicit_paddings = around},
           {.strides = {2, 1}, .padding = th::Padding::Explicit, .explicit_paddings = around}}) {
    cases.push_back({"Conv2D", [=](Case& c) { c.out(th::conv2d(c.in({2, 7, 9, 3}), c.in({3, 2, 3, 4}), options)); }});
  }
  for (const th::Conv2DOptions& options :
       std::initializer_list<th::Conv2DOptions>{{.padding = th::Padding::Same},
                                                {.strides = {2, 2}, .padding = th::Padding::Valid},
                                                {.padding = th::Padding::Explicit, .explicit_paddings = around}}) {
    for (const std::int64_t multiplier : {1, 3}) {
      cases.push_back({"DepthwiseConv2dNative", [=](Case& c) {
                         c.out(th::depthwise_conv2d(c.in({2, 5, 6, 3}), c.in({3, 2, 3, multiplier}), options));
                       }});
    }
  }
}

void add_normalization(Cases& cases) {
  const auto inputs = [](Case& c, std::int64_t given) {
    return std::vector<Output>{c.in({3, 4, 5, 2}), c.in({2}), c.in({2}), c.in({given}), c.in({given}, 0.5, 3)};
  };
  for (const bool is_training : {true, false}) {
    cases.push_back({"FusedBatchNormV3", [=](Case& c) {
                       const std::vector<Output> in = inputs(c, is_training ? 0 : 2);
                       const th::FusedBatchNormOptions options{.is_training = is_training};
                       c.out(th::fused_batch_norm(in[0], in[1], in[2], in[3], in[4], options).y);
                     }});
    cases.push_back({"FusedBatchNormV3", [=](Case& c) {
                       const std::vector<Output> outputs = c.raw("FusedBatchNormV3", inputs(c, 2),
                                                                 {{"T", c.dtype},
                                                                  {"U", c.dtype},
                                                                  {"exponential_avg_factor", is_training ? 0.3F : 1.0F},
                                                                  {"is_training", is_training}});
                       // What a gradient needs is left open if there is no training.
                       for (std::size_t i = 0; i < (is_training ? 5 : 3); ++i) c.out(outputs[i]);
                     }});
    for (const auto& [format, shape] :
         {std::pair{"NCHW", Shape{3, 2, 4, 5}}, {"NDHWC", Shape{3, 4, 5, 1, 2}}, {"NCDHW", Shape{3, 2, 4, 5, 2}}}) {
      cases.push_back(
          {"FusedBatchNormV3", [=, format = std::string(format), shape = shape](Case& c) {
             std::vector<Output> in = inputs(c, is_training ? 0 : 2);
             in[0] = c.in(shape);
             const Output y =
                 c.raw("FusedBatchNormV3", in,
                       {{"T", c.dtype}, {"U", c.dtype}, {"data_format", format}, {"is_training", is_training}})[0];
             // TensorFlow has no gradient of planes if there is no training.
             c.out(is_training || format == "NDHWC" ? y : th::stop_gradient(y));
           }});
    }
  }
}

void add_indexing(Cases& cases) {
  const auto ints = [](Case& c, const std::vector<std::int32_t>& values, const Shape& shape) {
    return th::constant(c.graph, th::Tensor::copy_of(std::span<const std::int32_t>(values), shape));
  };
  cases.push_back({"GatherNd", [=](Case& c) {
                     c.out(th::gather_nd(c.in({3, 4, 2}), ints(c, {2, 1, 0, 3, 2, 1}, {3, 2})));
                   }});
  cases.push_back({"GatherNd", [=](Case& c) { c.out(th::gather_nd(c.in({3, 4}), ints(c, {2, 1, 2}, {3, 1}))); }});
  cases.push_back({"ScatterNd", [=](Case& c) {
                     c.out(th::scatter_nd(ints(c, {2, 1, 2}, {3, 1}), c.in({3, 4}), ints(c, {5, 4}, {2})));
                   }});
  cases.push_back({"Where", [](Case& c) { c.out(th::where(c.in({3, 4}, -0.9, 1))); }});
  cases.push_back({"TopKV2", [](Case& c) {
                     const th::TopK top = th::top_k(c.in({2, 3, 7}), 4);
                     c.out(top.values);
                     c.out(top.indices);
                   }});
  cases.push_back({"TopKV2", [](Case& c) { c.out(th::top_k(c.in({5})).values); }});
  cases.push_back({"InTopKV2",
                   [=](Case& c) {
                     const Output predictions = c.in({6, 5});
                     c.out(th::in_top_k(predictions, ints(c, {0, 1, 2, 3, 4, 5}, {6}), 2));
                   },
                   Mode::Values, false});
  cases.push_back({"SegmentSum", [=](Case& c) {
                     const Output sums = th::segment_sum(c.in({5, 2}), ints(c, {0, 0, 2, 3, 3}, {5}));
                     c.out(th::reduce_sum(th::square(sums), {.axis = Ints{0, 1}}));
                   }});
}

void add_resizing(Cases& cases) {
  for (const th::ResizeOptions& options :
       {th::ResizeOptions{}, {.align_corners = true}, {.half_pixel_centers = true}}) {
    for (const th::ImageSize& size : {th::ImageSize{7, 9}, {2, 3}, {1, 1}}) {
      cases.push_back({"ResizeBilinear", [=](Case& c) {
                         c.is_smooth = false;  // its result is float32, also that of float64
                         c.out(th::resize_bilinear(c.in({2, 4, 5, 3}, 0, 90), size, options));
                       }});
      cases.push_back({"ResizeNearestNeighbor", [=](Case& c) {
                         c.out(th::resize_nearest_neighbor(c.in({2, 4, 5, 3}), size, options));
                       }});
    }
  }
}

void add_branches(Cases& cases) {
  for (const bool value : {false, true}) {
    for (const char* op : {"Switch", "Merge"}) {
      cases.push_back({op, [=](Case& c) {
                         const Output predicate = th::constant(c.graph, th::Tensor(value));
                         const std::vector<Output> ways = c.raw("Switch", {c.in({3, 4}), predicate}, {{"T", c.dtype}});
                         const std::vector<Output> ends{th::identity(ways[0]), th::zeros_like(ways[1])};
                         c.out(c.raw("Merge", ends, {{"T", c.dtype}, {"N", std::int64_t{2}}}));
                       }});
    }
  }
  cases.push_back({"Assert",
                   [](Case& c) {
                     const Output x = c.in({3});
                     const th::Operation check = c.graph.add(*th::find_op_def("Assert"),
                                                             {.inputs = {th::constant(c.graph, th::Tensor(true)), x},
                                                              .attrs = {{"T", std::vector<DType>{c.dtype}}}});
                     c.out(th::with_dependencies({check}, x));
                   },
                   Mode::Values, false});
  cases.push_back({"Print", [](Case& c) {
                     const Output x = c.in({3});
                     c.out(c.raw("Print", {x, x}, {{"T", c.dtype}, {"U", std::vector<DType>{c.dtype}}}));
                   }});
  cases.push_back({"RefSwitch",
                   [](Case& c) {
                     const th::Variable v = c.variable({2, 3});
                     c.init = v.initializer;
                     const Output predicate = th::constant(c.graph, th::Tensor(true));
                     const std::vector<Output> ways = c.raw("RefSwitch", {v.ref(), predicate}, {{"T", c.dtype}});
                     c.out(c.raw("AssignAdd", {ways[1], c.in({2, 3})}, {{"T", c.dtype}}));
                   },
                   Mode::Steps, false});
  cases.push_back({"RefIdentity",
                   [](Case& c) {
                     const th::Variable v = c.variable({2, 3});
                     c.init = v.initializer;
                     const Output same = c.raw("RefIdentity", {v.ref()}, {{"T", c.dtype}})[0];
                     c.out(c.raw("AssignAdd", {same, c.in({2, 3})}, {{"T", c.dtype}}));
                   },
                   Mode::Steps, false});
  cases.push_back({"PreventGradient", [](Case& c) {
                     c.out(c.raw("PreventGradient", {c.in({2, 3})}, {{"T", c.dtype}}));
                   }});
}

/// Updates of variables; `build` gives the inputs behind them.
void add_updates(Cases& cases) {
  const auto add = [&](const char* op, int variables, const th::Attrs& attrs,
                       const std::function<std::vector<Output>(Case&)>& build) {
    cases.push_back({op,
                     [=](Case& c) {
                       std::vector<th::Variable> all;
                       for (int i = 0; i < variables; ++i) all.push_back(c.variable({4, 3}, 0.5, 2));
                       c.init = th::variables_initializer(c.graph, all);
                       std::vector<Output> inputs;
                       for (const th::Variable& v : all) inputs.push_back(v.ref());
                       for (const Output& input : build(c)) inputs.push_back(input);
                       th::Attrs with = attrs;
                       with.emplace("T", c.dtype);
                       c.out(c.raw(op, inputs, with));
                       for (const th::Variable& v : all) c.out(v.read);
                     },
                     Mode::Steps});
  };
  const auto number = [](Case& c) { return c.in({}, 0.1, 0.9); };
  const auto power = [](Case& c, double value) { return th::cast(th::constant(c.graph, th::Tensor(value)), c.dtype); };
  const auto sparse_of = [](DType indices, th::Attrs attrs) {
    attrs.emplace("Tindices", indices);
    return attrs;
  };
  add("ApplyAdadelta", 3, {}, [=](Case& c) {
    return std::vector<Output>{number(c), number(c), number(c), c.in({4, 3})};
  });
  for (const bool updates : {true, false}) {
    const th::Attrs attrs{{"update_slots", updates}};
    add("ApplyAdagradV2", 2, attrs, [=](Case& c) { return std::vector<Output>{number(c), number(c), c.in({4, 3})}; });
    for (const DType type : {DType::Int32, DType::Int64}) {
      add("SparseApplyAdagradV2", 2, sparse_of(type, attrs), [=](Case& c) {
        return std::vector<Output>{number(c), number(c), c.in({5, 3}), c.in_as(type, {5}, 0, 3)};
      });
    }
  }
  for (const double l1 : {0.0, 0.3}) {
    add("ApplyProximalAdagrad", 2, {}, [=](Case& c) {
      return std::vector<Output>{number(c), power(c, l1), number(c), c.in({4, 3})};
    });
    add("ApplyProximalGradientDescent", 1, {}, [=](Case& c) {
      return std::vector<Output>{number(c), power(c, l1), number(c), c.in({4, 3})};
    });
  }
  for (const double lr_power : {-0.5, -0.3}) {
    for (const bool multiplies : {false, true}) {
      const th::Attrs attrs{{"multiply_linear_by_lr", multiplies}};
      add("ApplyFtrl", 3, attrs, [=](Case& c) {
        return std::vector<Output>{c.in({4, 3}), number(c), number(c), number(c), power(c, lr_power)};
      });
      for (const double shrinkage : {0.0, 0.2}) {
        add("ApplyFtrlV2", 3, attrs, [=](Case& c) {
          return std::vector<Output>{c.in({4, 3}), number(c),           number(c),
                                     number(c),    power(c, shrinkage), power(c, lr_power)};
        });
        add("SparseApplyFtrlV2", 3, sparse_of(DType::Int64, attrs), [=](Case& c) {
          return std::vector<Output>{
              c.in({3, 3}),      c.in_as(DType::Int64, {3}, 0, 3), number(c), number(c), number(c), power(c, shrinkage),
              power(c, lr_power)};
        });
      }
      for (const DType type : {DType::Int32, DType::Int64}) {
        add("SparseApplyFtrl", 3, sparse_of(type, attrs), [=](Case& c) {
          return std::vector<Output>{c.in({3, 3}), c.in_as(type, {3}, 0, 3), number(c), number(c),
                                     number(c),    power(c, lr_power)};
        });
      }
    }
  }
  for (const DType type : {DType::Int32, DType::Int64}) {
    const th::Attrs attrs{{"Tindices", type}};
    add("SparseApplyAdagrad", 2, attrs, [=](Case& c) {
      return std::vector<Output>{number(c), c.in({5, 3}), c.in_as(type, {5}, 0, 3)};
    });
    for (const bool nesterov : {false, true}) {
      th::Attrs with = attrs;
      with.emplace("use_nesterov", nesterov);
      add("SparseApplyMomentum", 2, with, [=](Case& c) {
        return std::vector<Output>{number(c), c.in({5, 3}), c.in_as(type, {5}, 0, 3), number(c)};
      });
    }
    add("SparseApplyRMSProp", 3, attrs, [=](Case& c) {
      return std::vector<Output>{number(c), number(c), number(c), number(c), c.in({3, 3}), c.in_as(type, {3}, 0, 3)};
    });
    add("SparseApplyAdadelta", 3, attrs, [=](Case& c) {
      return std::vector<Output>{number(c), number(c), number(c), c.in({5, 3}), c.in_as(type, {5}, 0, 3)};
    });
  }
}

}  // namespace

void add_model_ops(Cases& cases) {
  add_functions(cases);
  add_parts(cases);
  add_products(cases);
  add_convolutions(cases);
  add_normalization(cases);
  add_indexing(cases);
  add_resizing(cases);
  add_branches(cases);
  add_updates(cases);
}

}  // namespace op_cases
