// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shape cases of ops that models of tutorials use.
#include "shape_cases.hpp"

namespace shape_cases {
namespace {

using th::DType;
using th::Output;
using Cases = std::vector<ShapeCase>;

void add_functions(Cases& cases) {
  struct Function {
    std::string op;
    Output (*build)(Output, std::string_view);
  };
  for (const In& x : {in({3, 4}), in({-1, 4}), any(), in({3}, DType::Int32), in({3}, DType::Complex64)}) {
    for (const auto& [op, build] : {Function{"Acos", th::acos},
                                    {"Asin", th::asin},
                                    {"Atan", th::atan},
                                    {"Ceil", th::ceil},
                                    {"Cosh", th::cosh},
                                    {"Expm1", th::expm1},
                                    {"Rint", th::rint},
                                    {"Round", th::round},
                                    {"Selu", th::selu},
                                    {"Sinh", th::sinh},
                                    {"Softsign", th::softsign},
                                    {"Tan", th::tan}})
      cases.push_back({op, {x}, {}, [build = build](const Inputs& i) { return build(i[0], ""); }});
  }
}

void add_rearrangements(Cases& cases) {
  for (const In& x : {in({4, 4, 6, 4}), in({-1, 4, -1, 3}), in({12, 3}), in({12, 3, 5, 4}), any()}) {
    for (const In& around : {ints({0, 0, 0, 0}, {2, 2}), ints({1, 1, 3, 0}, {2, 2}), in({2, 2}, DType::Int32),
                             any(DType::Int32), in({3, 2}, DType::Int32)}) {
      for (const In& block : {ints({2, 3}), in({2}, DType::Int32)}) {
        for (const char* op : {"SpaceToBatchND", "BatchToSpaceND"}) cases.push_back({op, {x, block, around}});
      }
    }
    for (const std::int64_t size : {1, 2, 3}) {
      for (const char* op : {"DepthToSpace", "SpaceToDepth"}) cases.push_back({op, {x}, {{"block_size", size}}});
    }
    for (const std::int64_t batch : {0, 1, 3}) {
      for (const In& lengths :
           {in({4}, DType::Int64), in({-1}, DType::Int32), in({4, 4}, DType::Int64), any(DType::Int64)})
        cases.push_back({"ReverseSequence", {x, lengths}, {{"seq_dim", std::int64_t{2}}, {"batch_dim", batch}}});
    }
  }
  for (const In& x : {in({3, 4}), in({-1, 4}), in({3}), any()}) {
    for (const In& around :
         {ints({1, 1, 0, 2}, {2, 2}), in({2, 2}, DType::Int32), in({-1, 2}, DType::Int32), any(DType::Int64)}) {
      for (const char* op : {"MirrorPad", "MirrorPadGrad"}) {
        for (const std::string mode : {"REFLECT", "SYMMETRIC"}) cases.push_back({op, {x, around}, {{"mode", mode}}});
      }
    }
  }
}

void add_partitions(Cases& cases) {
  for (const In& x : {in({3, 4}), in({-1, 4}), in({3}), any(), in(Dims{}), in({3, 2}, DType::Int64)}) {
    for (const In& parts : {in({3}, DType::Int32), in({3, 4}, DType::Int32), in({-1}, DType::Int32),
                            in({5}, DType::Int32), any(DType::Int32), in(Dims{}, DType::Int32)}) {
      for (const std::int64_t count : {1, 3})
        cases.push_back({"DynamicPartition", {x, parts}, {{"num_partitions", count}}});
    }
    for (const In& shape : {ints({3, 4}), in({2}, DType::Int64), any(DType::Int32)})
      cases.push_back({"SparseToDense", {in({-1, 2}, std::get<DType>(shape.attrs.at("dtype"))), shape, x, x}});
  }
  for (const In& classes : {in({5, 2}, DType::Int64), in({-1, -1}, DType::Int64), in({5, 3}, DType::Int64),
                            in({5}, DType::Int64), any(DType::Int64)}) {
    for (const In& sampled : {in({4}, DType::Int64), any(DType::Int64), in({4, 4}, DType::Int64)})
      cases.push_back({"ComputeAccidentalHits", {classes, sampled}, {{"num_true", std::int64_t{2}}}});
  }
}

void add_training(Cases& cases) {
  const In number = in(Dims{});
  const In v = variable({4, 3});
  for (const In& g : {in({4, 3}), in({-1, 3}), in({2, 3}), any()}) {
    cases.push_back({"ApplyProximalAdagrad", {v, v, number, number, number, g}});
    cases.push_back({"ApplyProximalGradientDescent", {v, number, number, number, g}});
    for (const In& rows : {in({4}, DType::Int32), in({2}, DType::Int64), in({4, 1}, DType::Int32)}) {
      cases.push_back({"SparseApplyMomentum", {v, v, number, g, rows, number}});
      cases.push_back({"SparseApplyRMSProp", {v, v, v, number, number, number, number, g, rows}});
    }
  }
  cases.push_back({"ApplyProximalAdagrad", {v, variable({3, 4}), number, number, number, in({4, 3})}});
  cases.push_back({"ApplyProximalGradientDescent", {v, in({2}), number, number, in({4, 3})}});
  for (const In& x : {in({2, 3, 4, 5}), in({-1, 3, 4, -1}), in({3, 4}), any(), in({2, 3, 4, 5}, DType::Double)}) {
    cases.push_back({"LRN", {x}});
    for (const In& y : {in({2, 3, 4, 5}), in({2, 3, 4, 6}), any()}) cases.push_back({"LRNGrad", {x, y, y}});
  }
}

void add_einsums(Cases& cases) {
  for (const In& x : {in({2, 3}), in({-1, 3}), in({2, 4}), in({3}), any(), in({2, 3}, DType::Double)}) {
    for (const In& y : {in({3, 5}), in({-1, -1}), in({2, 3, 5}), any()}) {
      for (const std::string equation : {"ij,jk->ik", "ij,jk->kji", "ij,kj->", "bi,bij->bj", "ij,jk"})
        cases.push_back({"Einsum", {x, y}, {{"N", std::int64_t{2}}, {"equation", equation}}});
    }
    for (const std::string equation : {"ij->ji", "ij->", "ij,jk->ik", "ij->k"})
      cases.push_back({"Einsum", {x}, {{"N", std::int64_t{1}}, {"equation", equation}}});
  }
}

}  // namespace

void add_tutorial_shapes(Cases& cases) {
  add_functions(cases);
  add_rearrangements(cases);
  add_partitions(cases);
  add_training(cases);
  add_einsums(cases);
}

}  // namespace shape_cases
