// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/torch/values.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include <fmt/format.h>
#include <torch/utils.h>

#include <trainhook/events/summary.hpp>
#include <trainhook/torch/modules.hpp>

namespace trainhook::libtorch {

Output add_value(LoopSession& loop, std::string_view name, const ::torch::Tensor& tensor) {
  return loop.value(name, [&tensor] {
    return tensor.defined() ? static_cast<float>(tensor.to(::torch::kDouble).item<double>())
                            : std::numeric_limits<float>::quiet_NaN();
  });
}

inline std::string histogram_of(std::string_view tag, const ::torch::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const ::torch::NoGradGuard no_grad;
  const ::torch::Tensor all = tensor.to(::torch::kCPU, ::torch::kFloat).flatten();
  const ::torch::Tensor finite = all.masked_select(::torch::isfinite(all));
  return histogram_summary(tag,
                           std::span<const float>(finite.data_ptr<float>(), static_cast<std::size_t>(finite.numel())));
}

void add_histograms(LoopSession& loop, std::string_view name, const ::torch::nn::Module& module, bool gradients) {
  for (const auto& [called, parameter] : detail::parameters_of(module)) {
    const auto now = [&module, called = std::string(called)] { return detail::find_tensor(module, called); };
    loop.summary(fmt::format("{}/{}", name, called), [now](std::string_view tag) { return histogram_of(tag, now()); });
    if (!gradients || !parameter.requires_grad()) continue;
    loop.summary(fmt::format("{}/{}/gradient", name, called), [now](std::string_view tag) {
      const ::torch::Tensor tensor = now();
      return tensor.defined() ? histogram_of(tag, tensor.grad()) : std::string();
    });
  }
}

}  // namespace trainhook::libtorch
