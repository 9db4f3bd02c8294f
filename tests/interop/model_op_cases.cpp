// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cases of ops that imported models use.
#include "op_cases.hpp"

#include <cstdint>
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

}  // namespace

void add_model_ops(Cases& cases) {
  add_functions(cases);
  add_parts(cases);
  add_products(cases);
}

}  // namespace op_cases
