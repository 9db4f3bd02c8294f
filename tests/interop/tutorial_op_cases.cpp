// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cases of ops that the models of tutorials/ need.
#include "op_cases.hpp"

#include <array>
#include <cstdint>
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
  using Build = Output (*)(Output, std::string_view);
  struct Function {
    std::string op;
    Build build;
    double limit;
  };
  for (const auto& [op, build, limit] : std::initializer_list<Function>{{"Acos", th::acos, 0.9},
                                                                        {"Asin", th::asin, 0.9},
                                                                        {"Atan", th::atan, 2},
                                                                        {"Cosh", th::cosh, 2},
                                                                        {"Expm1", th::expm1, 2},
                                                                        {"Selu", th::selu, 2},
                                                                        {"Sinh", th::sinh, 2},
                                                                        {"Softsign", th::softsign, 2},
                                                                        {"Tan", th::tan, 1.2}}) {
    cases.push_back({op, [=, build = build, limit = limit](Case& c) {
                       c.out(build(c.in({3, 5}, -limit, limit), ""));
                     }});
  }
  for (const auto& [op, build] : std::initializer_list<std::pair<std::string, Build>>{
           {"Ceil", th::ceil}, {"Rint", th::rint}, {"Round", th::round}}) {
    cases.push_back({op, [build = build](Case& c) { c.out(build(c.in({3, 5}), "")); }});
    cases.push_back(
        {op, [build = build](Case& c) {  // halves go to the even one
           const Output halves = th::constant(c.graph, th::Tensor::of<double>({-2.5, -1.5, -0.5, 0.5, 1.5}));
           c.out(build(th::cast(halves, c.dtype), ""));
         }});
  }
}

Output ints(Case& c, const std::vector<std::int32_t>& values, const Shape& shape) {
  return th::constant(c.graph, th::Tensor::copy_of(std::span<const std::int32_t>(values), shape));
}

void add_rearrangements(Cases& cases) {
  for (const std::vector<std::int32_t>& around : {std::vector<std::int32_t>{0, 0, 0, 0}, {2, 0, 1, 5}, {3, 1, 0, 3}}) {
    cases.push_back(
        {"SpaceToBatchND", [=](Case& c) {
           const Output x = c.in({2, 4, 6, 3});
           c.out(c.raw("SpaceToBatchND", {x, ints(c, {2, 3}, {2}), ints(c, around, {2, 2})}, {{"T", c.dtype}}));
         }});
    cases.push_back(
        {"BatchToSpaceND", [=](Case& c) {
           const Output x = c.in({12, 3, 4, 2});
           c.out(c.raw("BatchToSpaceND", {x, ints(c, {2, 3}, {2}), ints(c, around, {2, 2})}, {{"T", c.dtype}}));
         }});
  }
  cases.push_back(
      {"DepthToSpace", [](Case& c) {
         c.out(c.raw("DepthToSpace", {c.in({2, 3, 2, 12})}, {{"T", c.dtype}, {"block_size", std::int64_t{2}}}));
       }});
  cases.push_back(
      {"SpaceToDepth", [](Case& c) {
         c.out(c.raw("SpaceToDepth", {c.in({2, 6, 3, 2})}, {{"T", c.dtype}, {"block_size", std::int64_t{3}}}));
       }});
  for (const std::string mode : {"REFLECT", "SYMMETRIC"}) {
    const th::Attrs attrs{{"mode", mode}, {"Tpaddings", DType::Int32}};
    cases.push_back({"MirrorPad", [=](Case& c) {
                       th::Attrs with = attrs;
                       with.emplace("T", c.dtype);
                       c.out(c.raw("MirrorPad", {c.in({3, 4}), ints(c, {2, 1, 0, 3}, {2, 2})}, with));
                     }});
    cases.push_back({"MirrorPadGrad", [=](Case& c) {
                       th::Attrs with = attrs;
                       with.emplace("T", c.dtype);
                       c.out(c.raw("MirrorPadGrad", {c.in({6, 7}), ints(c, {2, 1, 0, 3}, {2, 2})}, with));
                     }});
  }
  cases.push_back({"PadV2", [=](Case& c) {
                     const Output value = th::cast(th::constant(c.graph, th::Tensor(3.0F)), c.dtype);
                     c.out(c.raw("PadV2", {c.in({3, 4}), ints(c, {2, 1, 0, 3}, {2, 2}), value},
                                 {{"T", c.dtype}, {"Tpaddings", DType::Int32}}));
                   }});
  for (const bool is_turned : {false, true}) {
    cases.push_back({"ReverseSequence", [=](Case& c) {
                       c.out(c.raw("ReverseSequence", {c.in({3, 4, 3}), ints(c, {0, 2, 3}, {3})},
                                   {{"T", c.dtype},
                                    {"Tlen", DType::Int32},
                                    {"batch_dim", std::int64_t{is_turned ? 2 : 0}},
                                    {"seq_dim", std::int64_t{is_turned ? 0 : 1}}}));
                     }});
  }
  for (const auto& [lower, upper] :
       std::initializer_list<std::pair<std::int32_t, std::int32_t>>{{-1, 0}, {1, -1}, {0, 2}, {3, 1}}) {
    cases.push_back({"MatrixBandPart", [lower = lower, upper = upper](Case& c) {
                       c.out(c.raw("MatrixBandPart", {c.in({2, 4, 3}), ints(c, {lower}, {}), ints(c, {upper}, {})},
                                   {{"T", c.dtype}, {"Tindex", DType::Int32}}));
                     }});
  }
}

void add_truncations(Cases& cases) {
  for (const char* op : {"TruncateDiv", "TruncateMod"}) {
    cases.push_back({op, [=](Case& c) {
                       c.out(c.raw(op, {c.in({4, 5}, -9, 9), c.in({5}, 0.6, 3)}, {{"T", c.dtype}}));
                     }});
  }
}

void add_partitions(Cases& cases) {
  for (const bool is_matrix : {false, true}) {
    cases.push_back({"DynamicPartition", [=](Case& c) {
                       const Output parts = is_matrix ? ints(c, {2, 0, 0, 2, 1, 2}, {3, 2}) : ints(c, {0, 2, 0}, {3});
                       const th::Attrs attrs{{"T", c.dtype}, {"num_partitions", std::int64_t{3}}};
                       for (const Output& part : c.raw("DynamicPartition", {c.in({3, 2, 2}), parts}, attrs))
                         c.out(th::reduce_sum(th::square(part), {.axis = is_matrix ? Ints{0, 1} : Ints{0, 1, 2}}));
                     }});
  }
  cases.push_back(
      {"ParallelDynamicStitch", [](Case& c) {
         const std::vector<Output> inputs{ints(c, {3, 0}, {2}), ints(c, {1, 2}, {2}), c.in({2, 4}), c.in({2, 4})};
         c.out(c.raw("ParallelDynamicStitch", inputs, {{"N", std::int64_t{2}}, {"T", c.dtype}}));
       }});
  cases.push_back({"IdentityN", [](Case& c) {
                     const std::vector<DType> types{c.dtype, DType::Int32};
                     c.out(c.raw("IdentityN", {c.in({2, 3}), ints(c, {1, 2}, {2})}, {{"T", types}}));
                   }});
  for (const bool is_scalar : {false, true}) {
    cases.push_back(
        {"SparseToDense", [=](Case& c) {
           const std::vector<Output> inputs{ints(c, {0, 1, 1, 0, 2, 3}, {3, 2}), ints(c, {3, 4}, {2}),
                                            c.in(is_scalar ? Shape{} : Shape{3}), c.in({})};
           const Output dense = c.raw("SparseToDense", inputs, {{"T", c.dtype}, {"Tindices", DType::Int32}})[0];
           c.out(is_scalar ? th::stop_gradient(dense) : dense);  // TensorFlow's is of a wrong shape then
         }});
  }
  cases.push_back({"SparseToDense", [](Case& c) {  // nor is there one for a vector of indices
                     const th::Attrs attrs{{"T", c.dtype}, {"Tindices", DType::Int32}, {"validate_indices", false}};
                     const std::vector<Output> inputs{ints(c, {4, 1}, {2}), ints(c, {5}, {1}), c.in({2}), c.in({})};
                     c.out(th::stop_gradient(c.raw("SparseToDense", inputs, attrs)[0]));
                   }});
  for (const DType type : {DType::Int32, DType::Int64}) {
    cases.push_back({"ListDiff", [=](Case& c) {
                       const Output x = th::cast(ints(c, {3, 1, 4, 1, 5}, {5}), c.dtype);
                       const Output y = th::cast(ints(c, {9, 4, 3}, {3}), c.dtype);
                       c.out(c.raw("ListDiff", {x, y}, {{"T", c.dtype}, {"out_idx", type}}));
                     }});
  }
  cases.push_back({"UniqueWithCounts", [](Case& c) {
                     c.out(c.raw("UniqueWithCounts", {c.in({9})}, {{"T", c.dtype}, {"out_idx", DType::Int64}}));
                   }});
  for (const DType type : {DType::Int32, DType::Int64}) {
    cases.push_back({"BroadcastArgs",
                     [=](Case& c) {
                       const Output x = th::cast(ints(c, {2, 1, 3}, {3}), type);
                       c.out(c.raw("BroadcastArgs", {x, th::cast(ints(c, {4, 1}, {2}), type)}, {{"T", type}}));
                     },
                     Mode::Values, false});
  }
  cases.push_back({"Bucketize", [](Case& c) {
                     c.out(c.raw("Bucketize", {c.in({3, 4})},
                                 {{"T", c.dtype}, {"boundaries", std::vector<float>{-1, 0, 0.1F, 1}}}));
                   }});
  cases.push_back({"ComputeAccidentalHits",
                   [](Case& c) {
                     const Output candidates = th::constant(c.graph, th::Tensor::of<std::int64_t>({3, 1, 6, 2}));
                     c.out(c.raw("ComputeAccidentalHits", {c.in_as(DType::Int64, {5, 2}, 0, 7), candidates},
                                 {{"num_true", std::int64_t{2}}}));
                   },
                   Mode::Values, false});
}

void add_local_response(Cases& cases) {
  for (const std::int64_t radius : {1, 5}) {
    cases.push_back(
        {"LRN", [=](Case& c) {
           c.out(c.raw("LRN", {c.in({2, 3, 2, 7})},
                       {{"T", c.dtype}, {"depth_radius", radius}, {"bias", 1.5F}, {"alpha", 0.3F}, {"beta", 0.75F}}));
         }});
  }
}

void add_einsums(Cases& cases) {
  struct Row {
    std::string equation;
    Shape left;
    Shape right;
  };
  for (const auto& [equation, left, right] : std::initializer_list<Row>{{"ij,jk->ik", {2, 3}, {3, 4}},
                                                                        {"btd,de->bte", {2, 3, 4}, {4, 5}},
                                                                        {"bhqd,bhkd->bhqk", {2, 2, 3, 4}, {2, 2, 5, 4}},
                                                                        {"bqhd,bkhd->bhqk", {2, 3, 2, 4}, {2, 5, 2, 4}},
                                                                        {"i,j->ji", {3}, {4}},
                                                                        {"bi,bi->b", {3, 4}, {3, 4}},
                                                                        {"ijk,kj->i", {2, 3, 4}, {4, 3}}}) {
    cases.push_back({"Einsum", [equation = equation, left = left, right = right](Case& c) {
                       c.out(c.raw("Einsum", {c.in(left), c.in(right)},
                                   {{"T", c.dtype}, {"N", std::int64_t{2}}, {"equation", equation}}));
                     }});
  }
  cases.push_back({"Einsum", [](Case& c) {
                     c.out(c.raw("Einsum", {c.in({2, 3, 4})},
                                 {{"T", c.dtype}, {"N", std::int64_t{1}}, {"equation", std::string("abc->cab")}}));
                   }});
  for (const char* equation : {"abb->a", "abb->ba", "abb->"}) {  // these have no gradient here
    cases.push_back(
        {"Einsum", [=](Case& c) {
           const th::Attrs attrs{{"T", c.dtype}, {"N", std::int64_t{1}}, {"equation", std::string(equation)}};
           c.out(th::stop_gradient(c.raw("Einsum", {c.in({2, 3, 3})}, attrs)[0]));
         }});
  }
}

void add_transposed_convolutions(Cases& cases) {
  for (const std::string padding : {"SAME", "VALID"}) {
    cases.push_back({"Conv2DBackpropInput", [=](Case& c) {
                       const bool is_same = padding == "SAME";
                       const Output size = ints(c, {2, is_same ? 8 : 9, is_same ? 6 : 7, 3}, {4});
                       c.out(c.raw("Conv2DBackpropInput", {size, c.in({3, 3, 3, 2}), c.in({2, 4, 3, 2})},
                                   {{"T", c.dtype}, {"padding", padding}, {"strides", Ints{1, 2, 2, 1}}}));
                     }});
  }
}

}  // namespace

void add_tutorial_ops(Cases& cases) {
  add_functions(cases);
  add_rearrangements(cases);
  add_partitions(cases);
  add_truncations(cases);
  add_local_response(cases);
  add_einsums(cases);
  add_transposed_convolutions(cases);
}

}  // namespace op_cases
