// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cases of NaN, infinities, and numbers that are too small for a full mantissa.
#include "op_cases.hpp"

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace op_cases {

void add_extremes(std::vector<CaseDef>& cases) {
  using Build = th::Output (*)(th::Output, std::string_view);
  const std::initializer_list<std::pair<const char*, Build>> functions{{"Relu", th::relu},
                                                                       {"Relu6", th::relu6},
                                                                       {"Elu", th::elu},
                                                                       {"Softplus", th::softplus},
                                                                       {"Sigmoid", th::sigmoid},
                                                                       {"Tanh", th::tanh},
                                                                       {"Sqrt", th::sqrt},
                                                                       {"Rsqrt", th::rsqrt},
                                                                       {"Reciprocal", th::reciprocal},
                                                                       {"Log", th::log},
                                                                       {"Log1p", th::log1p},
                                                                       {"Exp", th::exp},
                                                                       {"Softmax", th::softmax},
                                                                       {"LogSoftmax", th::log_softmax},
                                                                       {"Abs", th::abs},
                                                                       {"Square", th::square},
                                                                       {"Floor", th::floor}};
  for (const auto& [op, build] : functions) {
    for (const std::int64_t size : {1, 19}) {
      cases.push_back({op, [build = build, size](Case& c) { c.out(build(c.extreme({7, size}, -8, 8), {})); }});
    }
  }
  cases.push_back({"LeakyRelu", [](Case& c) { c.out(th::leaky_relu(c.extreme({7, 19}))); }});
  for (const char* op : {"ReluGrad", "Relu6Grad", "EluGrad", "SoftplusGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad",
                         "SigmoidGrad", "TanhGrad"}) {
    cases.push_back({op, [=](Case& c) {
                       c.out(c.raw(op, {c.extreme({7, 19}), c.extreme({7, 19})}, {{"T", c.dtype}}));
                     }});
  }
  for (const th::Padding padding : {th::Padding::Same, th::Padding::Valid}) {
    for (const std::int64_t stride : {1, 2}) {
      for (const std::int64_t channels : {1, 19}) {
        const th::PoolOptions pool{.ksize = {2, 2}, .strides = {stride, 2}, .padding = padding};
        cases.push_back({"MaxPool", [=](Case& c) { c.out(th::max_pool(c.extreme({2, 7, 6, channels}), pool)); }});
        cases.push_back({"AvgPool", [=](Case& c) { c.out(th::avg_pool(c.extreme({2, 7, 6, channels}), pool)); }});
      }
      const th::Conv2DOptions conv{.strides = {stride, stride}, .padding = padding};
      cases.push_back({"Conv2D", [=](Case& c) {
                         c.out(th::conv2d(c.extreme({2, 7, 6, 1}), c.in({3, 2, 1, 4}), conv));
                       }});
      cases.push_back({"Conv2D", [=](Case& c) {
                         c.out(th::conv2d(c.in({2, 7, 6, 2}), c.extreme({3, 2, 2, 9}), conv));
                       }});
    }
  }
}

}  // namespace op_cases
