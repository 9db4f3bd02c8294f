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
    for (const In& y : {in({3, 4}), in({3, -1}), in({5}), any()}) {
      for (const char* op : {"SeluGrad", "SoftsignGrad"}) cases.push_back({op, {x, y}});
    }
  }
}

}  // namespace

void add_tutorial_shapes(Cases& cases) { add_functions(cases); }

}  // namespace shape_cases
