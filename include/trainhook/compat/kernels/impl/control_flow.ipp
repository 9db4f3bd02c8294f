// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of Switch and Merge, assertions, and Print.
#pragma once

#include <trainhook/compat/kernels.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/log.hpp>
#include <trainhook/engine/conditions.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The first elements of a tensor, as `Assert` and `Print` show them. A negative number shows all.
inline std::string summary_of(const Tensor& tensor, std::int64_t most) {
  const auto list = [&]<class T>(T) {
    std::string text;
    std::int64_t shown = 0;
    for (const T& element : tensor.data<T>()) {
      if (most >= 0 && shown == most) return text + "...";
      text += fmt::format("{}{}", shown++ > 0 ? " " : "", element);
    }
    return text;
  };
  switch (tensor.dtype()) {
    case DType::Float: return list(float{});
    case DType::Double: return list(double{});
    case DType::Int32: return list(std::int32_t{});
    case DType::Int64: return list(std::int64_t{});
    case DType::UInt8: return list(std::uint8_t{});
    case DType::Bool: return list(bool{});
    case DType::String: return list(std::string{});
    default: return fmt::format("{}", tensor);
  }
}

/// Inputs `from` and those behind it, each in brackets.
inline std::string summaries_of(const KernelContext& context, std::size_t from, std::int64_t most) {
  std::string text;
  for (std::size_t i = from; i < context.num_inputs(); ++i)
    text += fmt::format("{}[{}]", i > from && from == 1 && context.num_outputs() == 0 ? " " : "",
                        summary_of(context.input(i), most));
  return text;
}

inline Kernel make_assert(const Node& node) {
  return [most = node.attr<std::int64_t>("summarize")](KernelContext& context) {
    if (!context.input(0).scalar<bool>())
      throw InvalidArgumentError("assertion failed: {}", summaries_of(context, 1, most));
  };
}

/// How often a Print has run in a session.
class PrintCount final : public NodeState {
 public:
  std::atomic<std::int64_t> count{0};
};

inline std::unique_ptr<NodeState> make_print_count(const Node&, std::uint64_t) {
  return std::make_unique<PrintCount>();
}

inline Kernel make_print(const Node& node) {
  return [message = node.attr<std::string>("message"), first = node.attr<std::int64_t>("first_n"),
          most = node.attr<std::int64_t>("summarize")](KernelContext& context) {
    if (first < 0 || context.state<PrintCount>().count.fetch_add(1) < first)
      log_info("{}{}", message, summaries_of(context, 1, most));
    context.set_output(0, context.input(0));
  };
}

/// The planner makes one that knows the branches.
inline Kernel make_merge(const Node& node) {
  return merge_kernel(std::vector<std::vector<BranchInput>>(node.inputs().size()));
}

inline constexpr std::array kControlFlow{
    KernelDef{.type = "Assert", .make = make_assert, .stateful = true},
    KernelDef{.type = "Merge", .make = make_merge, .stateful = true},
    KernelDef{.type = "Print", .make = make_print, .alias = true, .stateful = true, .make_state = make_print_count},
};

}  // namespace detail

KernelGroup control_flow() noexcept { return detail::kControlFlow; }

}  // namespace trainhook::kernels
