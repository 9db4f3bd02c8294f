// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of constant_folding.hpp.
#pragma once

#include <trainhook/engine/constant_folding.hpp>

#include <algorithm>
#include <cstddef>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook::detail {

inline constexpr std::size_t kLargestFolded = 64 * 1024;  // bytes

bool can_be_folded(const Node& node, const KernelDef& def) {
  if (def.stateful || def.make_state != nullptr || def.variables > 0 || !node.control_inputs().empty()) return false;
  const auto is_large = [](const OutputSpec& output) {
    return output.shape.is_fully_known() &&
           static_cast<std::size_t>(output.shape.known().num_elements()) * dtype_size(output.dtype) > kLargestFolded;
  };
  return !node.outputs().empty() && std::ranges::none_of(node.outputs(), is_large);
}

std::vector<std::unique_ptr<Tensor>> fold(Node& node, const Kernel& kernel,
                                          const std::vector<KernelContext::Input>& inputs) {
  std::vector<std::unique_ptr<Tensor>> results;
  std::vector<Tensor*> outputs;
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    outputs.push_back(results.emplace_back(std::make_unique<Tensor>()).get());
  Tensor scratch;
  try {
    KernelContext context(node, inputs, outputs, nullptr, scratch);
    kernel(context);
    context.check_outputs();
  } catch (const Error&) { return {}; }
  const auto is_large = [](const auto& result) { return result->byte_size() > kLargestFolded; };
  if (std::ranges::any_of(results, is_large)) results.clear();
  return results;
}

}  // namespace trainhook::detail
