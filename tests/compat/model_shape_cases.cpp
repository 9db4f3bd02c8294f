// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shape cases of ops that imported models use.
#include "shape_cases.hpp"

#include <array>
#include <initializer_list>
#include <span>

#include <trainhook/model/ops/matrix.hpp>

namespace shape_cases {
namespace {

using th::DType;
using th::Output;
using Cases = std::vector<ShapeCase>;

void add_functions(Cases& cases) {
  for (const In& x : {in({3, 4}), in({-1, 4}), any(), in({3}, DType::Int32)}) {
    cases.push_back({"Erf", {x}, {}, [](const Inputs& i) { return th::erf(i[0]); }});
    for (const In& y : {in({4}), in({3, 1}), in({5}), any()})
      cases.push_back({"DivNoNan", {x, y}, {}, [](const Inputs& i) { return th::divide_no_nan(i[0], i[1]); }});
  }
}

void add_parts(Cases& cases) {
  for (const In& x : {in({4, 6}), in({-1, 6}), in({2, 3, 4}), any(), in(Dims{}), in({4, -1}, DType::String)}) {
    for (const std::int32_t axis : {0, 1, -1, 4}) {
      for (const std::int64_t count : {1, 2, 3}) {
        cases.push_back({"Split", {number(axis), x}, {{"num_split", count}}, [=](const Inputs& i) {
                           return th::split(i[1], count, axis)[0];
                         }});
      }
      for (const std::vector<std::int32_t>& sizes :
           {std::vector<std::int32_t>{4}, {1, -1}, {3, 3}, {-1, -1}, {5, -1, 1}, {2, 2}}) {
        const std::int64_t count = static_cast<std::int64_t>(sizes.size());
        const Dims wide(sizes.begin(), sizes.end());
        cases.push_back({"SplitV", {x, ints(sizes), number(axis)}, {{"num_split", count}}, [=](const Inputs& i) {
                           return th::split(i[0], wide, axis)[0];
                         }});
      }
      cases.push_back({"SplitV", {x, in({2}, DType::Int64), number(axis)}, {{"num_split", std::int64_t{2}}}});
    }
    cases.push_back({"Split", {in(Dims{}, DType::Int32), x}, {{"num_split", std::int64_t{2}}}});
    cases.push_back({"SplitV", {x, in({2}, DType::Int32), in(Dims{}, DType::Int32)}, {{"num_split", std::int64_t{2}}}});
    cases.push_back({"SplitV", {x, ints({2, 2}), number(0)}, {{"num_split", std::int64_t{3}}}});
    for (const std::vector<std::int32_t>& axis : {std::vector<std::int32_t>{0}, {1, -1}, {0, 1}, {4}, {}}) {
      const Dims wide(axis.begin(), axis.end());
      cases.push_back({"ReverseV2", {x, ints(axis)}, {}, [=](const Inputs& i) { return th::reverse(i[0], wide); }});
    }
    cases.push_back({"ReverseV2", {x, in({-1}, DType::Int64)}});
  }
}

void add_restore(Cases& cases) {
  const std::vector<std::string> words = {"a", "b"};
  const In names = constant(th::Tensor::copy_of(std::span(words), th::Shape{2}));
  const In whole = constant(th::Tensor(DType::String, th::Shape{2}));
  cases.push_back({"RestoreV2",
                   {constant(th::Tensor("model")), names, whole},
                   {{"dtypes", std::vector<DType>{DType::Float, DType::Int64}}},
                   [](const Inputs& i) {
                     const th::RestoredTensor a{.name = "a", .output = {DType::Float, {}}};
                     const th::RestoredTensor b{.name = "b", .output = {DType::Int64, {}}};
                     return th::restore_v2(i[0].graph(), "model", {a, b})[0];
                   }});
}

void add_products(Cases& cases) {
  for (const In& a : {in({2, 3, 4}), in({-1, 3, 4}), in({3, 4}), in({5, 1, 3, -1}), any(), in({4})}) {
    for (const In& b : {in({2, 4, 5}), in({4, 5}), in({3, 4, 5}), in({2, 3, 5}), any(), in({2, 4, 5}, DType::Double)}) {
      for (const auto& [x, y] : {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
        const auto build = [adj_x = x, adj_y = y](const Inputs& i) {
          return th::detail::batch_matmul(i[0], i[1], adj_x, adj_y, {});
        };
        cases.push_back({"BatchMatMulV2", {a, b}, {{"adj_x", x}, {"adj_y", y}}, build});
      }
    }
  }
}

void add_convolutions(Cases& cases) {
  const Dims one{1, 1, 1, 1};
  const Dims around{0, 0, 1, 2, 0, 3, 0, 0};
  struct Row {
    std::string padding;
    Dims strides;
    Dims dilations;
    Dims paddings;
  };
  for (const Row& row : std::initializer_list<Row>{{"SAME", one, {1, 2, 3, 1}, {}},
                                                   {"VALID", {1, 2, 2, 1}, {1, 2, 1, 1}, {}},
                                                   {"VALID", one, {1, 9, 9, 1}, {}},
                                                   {"EXPLICIT", one, one, around},
                                                   {"EXPLICIT", {1, 2, 1, 1}, {1, 2, 2, 1}, around},
                                                   {"EXPLICIT", one, one, {}},
                                                   {"EXPLICIT", one, one, {0, 0, 1, 2, 0, -3, 0, 0}},
                                                   {"EXPLICIT", one, one, {1, 0, 1, 2, 0, 3, 0, 0}},
                                                   {"SAME", one, one, around},
                                                   {"SAME", one, {1, 0, 1, 1}, {}},
                                                   {"SAME", one, {2, 1}, {}}}) {
    const th::Attrs attrs{{"strides", row.strides},
                          {"padding", row.padding},
                          {"dilations", row.dilations},
                          {"explicit_paddings", row.paddings}};
    for (const In& x : {in({2, 7, 8, 3}), in({-1, -1, 8, 3}), any(), in({7, 8, 3})}) {
      for (const In& filter : {in({3, 2, 3, 4}), in({3, 2, 4, 4}), in({-1, 2, 3, -1}), any()}) {
        cases.push_back({"Conv2D", {x, filter}, attrs});
        cases.push_back({"DepthwiseConv2dNative", {x, filter}, attrs});
      }
    }
  }
  const th::Attrs plain{{"strides", one}, {"padding", std::string("SAME")}};
  cases.push_back({"DepthwiseConv2dNative", {in({2, 7, 8, 3}), in({3, 2, 3, 4})}, plain, [](const Inputs& i) {
                     return th::depthwise_conv2d(i[0], i[1]);
                   }});
  for (const In& sizes : {ints({2, 7, 8, 3}), in({4}, DType::Int32), in({4, 1}, DType::Int32)}) {
    cases.push_back({"DepthwiseConv2dNativeBackpropInput", {sizes, in({3, 2, 3, 4}), in({2, 7, 8, 12})}, plain});
    cases.push_back({"DepthwiseConv2dNativeBackpropFilter", {in({2, 7, 8, 3}), sizes, in({2, 7, 8, 12})}, plain});
  }
}

void add_normalization(Cases& cases) {
  for (const In& x : {in({2, 4, 5, 3}), in({-1, 4, 5, -1}), any(), in({2, 3})}) {
    for (const In& scale : {in({3}), in({4}), in({-1}), in({3, 1}), any()}) {
      for (const bool is_training : {true, false}) {
        const auto build = [=](const Inputs& i) {
          return th::fused_batch_norm(i[0], i[1], i[2], i[3], i[4], {.is_training = is_training}).y;
        };
        const th::Attrs attrs{{"epsilon", 0.001F}, {"is_training", is_training}};
        cases.push_back({"FusedBatchNormV3", {x, scale, in({3}), in({3}), in({3})}, attrs, build});
        cases.push_back({"FusedBatchNormGradV3",
                         {x, in({2, 4, 5, 3}), scale, in({3}), in({3}), any()},
                         {{"is_training", is_training}}});
      }
    }
    cases.push_back({"FusedBatchNormV3", {x, in({3}), in({3}), in({0}), in({0})}});
    cases.push_back({"FusedBatchNormV3", {x, in({3}), in({3}), in({0}), in({0})}, {{"is_training", false}}});
  }
}

void add_indexing(Cases& cases) {
  const In indices[] = {in({7, 2}, DType::Int32),
                        in({7, 3}, DType::Int32),
                        in({2, -1}, DType::Int64),
                        in({-1, 1}, DType::Int32),
                        any(DType::Int32),
                        in(Dims{}, DType::Int32),
                        in({7, 2})};
  for (const In& x : {in({3, 4}), in({-1, 4}), in({7, 5}), in({4}), any(), in(Dims{}), in({3, 4}, DType::Bool)}) {
    for (const In& at : indices) {
      cases.push_back({"GatherNd", {x, at}, {}, [](const Inputs& i) { return th::gather_nd(i[0], i[1]); }});
      for (const In& shape : {ints({8, 5}), ints({8}), in({2}, DType::Int32), in({-1}, DType::Int32)}) {
        cases.push_back(
            {"ScatterNd", {at, x, shape}, {}, [](const Inputs& i) { return th::scatter_nd(i[0], i[1], i[2]); }});
      }
    }
    cases.push_back({"Where", {x}, {}, [](const Inputs& i) { return th::where(i[0]); }});
    for (const std::int32_t k : {0, 1, 4, 5, -1})
      cases.push_back({"TopKV2", {x, number(k)}, {}, [=](const Inputs& i) { return th::top_k(i[0], k).values; }});
    cases.push_back({"TopKV2", {x, in(Dims{}, DType::Int32)}});
    for (const In& targets :
         {in({3}, DType::Int32), in({7}, DType::Int64), in({-1}, DType::Int32), any(DType::Int32), in({3})}) {
      cases.push_back({"InTopKV2", {x, targets, in(Dims{}, DType::Int32)}});
      const bool wide = std::get<DType>(targets.attrs.at("dtype")) == DType::Int64;
      const In k = wide ? constant(th::Tensor(std::int64_t{2})) : number(2);  // the builder gives it the targets' type
      cases.push_back({"InTopKV2", {x, targets, k}, {}, [](const Inputs& i) { return th::in_top_k(i[0], i[1], 2); }});
      cases.push_back({"SegmentSum", {x, targets}, {}, [](const Inputs& i) { return th::segment_sum(i[0], i[1]); }});
    }
  }
}

void add_resizing(Cases& cases) {
  for (const In& images : {in({2, 4, 5, 3}), in({-1, -1, 5, -1}), any(), in({4, 5}), in({2, 4, 5, 3}, DType::UInt8)}) {
    cases.push_back({"ResizeBilinear", {images, ints({7, 8})}, {}, [](const Inputs& i) {
                       return th::resize_bilinear(i[0], {7, 8});
                     }});
    cases.push_back({"ResizeNearestNeighbor", {images, ints({7, 8})}, {}, [](const Inputs& i) {
                       return th::resize_nearest_neighbor(i[0], {7, 8});
                     }});
    for (const In& size :
         {in({2}, DType::Int32), in({-1}, DType::Int32), ints({7}), ints({7, 8}, {2, 1}), any(DType::Int32)}) {
      for (const char* op : {"ResizeBilinear", "ResizeNearestNeighbor", "ResizeNearestNeighborGrad"})
        cases.push_back({op, {images, size}});
    }
    cases.push_back({"ResizeBilinearGrad", {in({2, 7, 8, 3}), images}});
  }
}

void add_branches(Cases& cases) {
  for (const In& x : {in({3, 4}), in({-1, 4}), any(), in(Dims{}, DType::String)}) {
    for (const In& predicate : {in(Dims{}, DType::Bool), in({1}, DType::Bool), any(DType::Bool), in(Dims{})})
      cases.push_back({"Switch", {x, predicate}});
    for (const In& y : {in({3, 4}), in({3, 5}), in({4}), any(), in({3, 4}, DType::Double)})
      cases.push_back({"Merge", {x, y}});
  }
}

void add_updates(Cases& cases) {
  const In v = variable({4, 3});
  const In one = in(Dims{});
  for (const In& gradient :
       {in({4, 3}), in({-1, 3}), in({3, 4}), any(), in({4, 3}, DType::Double)}) {  // TensorFlow crashes for scalars
    cases.push_back({"ApplyAdadelta", {v, v, v, one, one, one, gradient}});
    cases.push_back({"ApplyAdagradV2", {v, v, one, one, gradient}});
    cases.push_back({"ApplyFtrl", {v, v, v, gradient, one, one, one, one}});
    cases.push_back({"ApplyFtrlV2", {v, v, v, gradient, one, one, one, one, one}});
    for (const In& rows :
         {in({4}, DType::Int32), in({2}, DType::Int64), in({-1}, DType::Int32), in({4, 1}, DType::Int32)}) {
      cases.push_back({"SparseApplyAdadelta", {v, v, v, one, one, one, gradient, rows}});
      cases.push_back({"SparseApplyAdagrad", {v, v, one, gradient, rows}});
      cases.push_back({"SparseApplyAdagradV2", {v, v, one, one, gradient, rows}});
      cases.push_back({"SparseApplyFtrlV2", {v, v, v, gradient, rows, one, one, one, one, one}});
      cases.push_back({"SparseApplyFtrl", {v, v, v, gradient, rows, one, one, one, one}});
    }
  }
  cases.push_back({"SparseApplyAdagrad", {v, variable({4, 2}), one, in({4, 3}), in({4}, DType::Int32)}});
  cases.push_back({"SparseApplyAdagrad", {v, v, in({1}), in({4, 3}), in({4}, DType::Int32)}});
}

}  // namespace

void add_model_shapes(Cases& cases) {
  add_functions(cases);
  add_parts(cases);
  add_products(cases);
  add_restore(cases);
  add_convolutions(cases);
  add_normalization(cases);
  add_indexing(cases);
  add_resizing(cases);
  add_branches(cases);
  add_updates(cases);
}

}  // namespace shape_cases
