// SPDX-License-Identifier: Apache-2.0
/// @file
/// SmallEngine: a GraphSession with just the kernels that tests of sessions need, none of which brings Eigen.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>

namespace trainhook::support {

template <class T, bool Adds>
void combine(KernelContext& context) {
  const std::span<const T> a = context.data<T>(0);
  const std::span<const T> b = context.data<T>(1);
  const std::span<T> result = context.output<T>(0, a.size() >= b.size() ? context.shape(0) : context.shape(1));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const T x = a[a.size() == 1 ? 0 : i];
    const T y = b[b.size() == 1 ? 0 : i];
    result[i] = static_cast<T>(Adds ? x + y : x * y);
  }
}

template <bool Adds>
Kernel make_combine(const Node& node) {
  return trainhook::detail::kernel_for(trainhook::detail::NumberTypes{}, node, "T",
                                       []<class T>() { return Kernel(combine<T, Adds>); });
}

template <std::size_t Count>
Kernel make_report(const Node&) {
  return [](KernelContext& context) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < Count; ++i) {
      if (!context.variable(i).value.has_value()) names.push_back(context.variable(i).node().name());
    }
    Tensor result(DType::String, Shape{static_cast<std::int64_t>(names.size())});
    std::ranges::copy(names, result.mutable_data<std::string>().begin());
    context.set_output(0, result);
  };
}

inline constexpr std::array kSmallKernels{
    KernelDef{.type = "AddV2", .make = make_combine<true>},
    KernelDef{.type = "Mul", .make = make_combine<false>},
    KernelDef{
        .type = "ReportUninitialized1", .make = make_report<1>, .variables = 1, .initializes = true, .stateful = true},
    KernelDef{
        .type = "ReportUninitialized2", .make = make_report<2>, .variables = 2, .initializes = true, .stateful = true},
};

class SmallEngine final : public GraphSession {
 public:
  explicit SmallEngine(Graph& graph)
      : GraphSession(graph, {.kernels = {kernels::state(), KernelGroup(kSmallKernels)}}) {}
};

/// The names of those of one or two variables that have no value yet, as a string vector.
inline Output report_uninitialized(Graph& graph, const std::vector<Variable>& variables) {
  std::vector<Output> refs;
  for (const Variable& variable : variables) refs.push_back(variable.ref());
  return graph
      .add({.type = fmt::format("ReportUninitialized{}", variables.size()),
            .name = "report",
            .inputs = std::move(refs),
            .outputs = {{DType::String, PartialShape{kUnknownDim}}}})
      .output();
}

}  // namespace trainhook::support
