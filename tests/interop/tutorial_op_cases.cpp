// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cases of ops that the models of tutorials/ need.
#include "op_cases.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
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

}  // namespace

void add_tutorial_ops(Cases& cases) { add_functions(cases); }

}  // namespace op_cases
