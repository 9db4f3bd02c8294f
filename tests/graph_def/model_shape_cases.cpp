// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shape cases of ops that imported models use.
#include "shape_cases.hpp"

#include <array>
#include <initializer_list>

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

void add_products(Cases& cases) {
  for (const In& a : {in({2, 3, 4}), in({-1, 3, 4}), in({3, 4}), in({5, 1, 3, -1}), any(), in({4})}) {
    for (const In& b : {in({2, 4, 5}), in({4, 5}), in({3, 4, 5}), in({2, 3, 5}), any(), in({2, 4, 5}, DType::Double)}) {
      cases.push_back({"BatchMatMulV2", {a, b}});
      cases.push_back({"BatchMatMulV2", {a, b}, {{"adj_x", true}}});
      cases.push_back({"BatchMatMulV2", {a, b}, {{"adj_y", true}}});
    }
  }
}

}  // namespace

void add_model_shapes(Cases& cases) {
  add_functions(cases);
  add_parts(cases);
  add_products(cases);
}

}  // namespace shape_cases
