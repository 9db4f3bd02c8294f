// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/nan_tensor_hook.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/non_finite.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_signature.hpp>

namespace trainhook {

NanTensorHook::NanTensorHook(NanTensorHook&& other) noexcept = default;
NanTensorHook::~NanTensorHook() = default;

NanTensorHook::NanTensorHook(FetchRefs tensors) : NanTensorHook(std::move(tensors), Options{}) {}

NanTensorHook::NanTensorHook(FetchRefs tensors, Options options) : tensors_(std::move(tensors)), options_(options) {
  if (tensors_.empty())
    throw InvalidArgumentError("NanTensorHook: no tensor is given; give at least one, such as the loss");
}

void NanTensorHook::begin(Graph& graph) {
  fetches_ = tensors_.resolve_outputs(graph, "NanTensorHook");
  for (const Fetch& fetch : fetches_) {
    const Output tensor(&fetch.node(), static_cast<std::size_t>(fetch.index()));
    if (!is_floating(tensor.dtype()) && !detail::is_complex(tensor.dtype())) {
      throw InvalidArgumentError("NanTensorHook: '{}' is {}, which is never NaN; watch a floating-point tensor",
                                 tensor.name(), tensor.dtype());
    }
  }
}

void NanTensorHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  for (std::size_t i = 0; i < values.results.size(); ++i) {
    if (const std::optional<std::size_t> place = detail::first_non_finite(elements_of(values.results[i]))) {
      report(context, i, values.results[i], *place);
      return;
    }
  }
  problem_.reset();
}

void NanTensorHook::report(SessionRunContext& context, std::size_t index, const Tensor& value, std::size_t place) {
  const std::string element = value.shape().rank() == 0
                                  ? std::string()
                                  : fmt::format(" (element {} of {}{})", place, value.dtype(), value.shape());
  problem_ = fmt::format("tensor '{}' is NaN or infinite{}", tensors_.entries()[index].tag, element);
  if (options_.fail_on_nan_loss) {
    log_error("Model diverged with loss = NaN: {}", *problem_);
    throw NanLossDuringTrainingError(
        "NaN loss during training: {}; lower the learning rate, or resume from an earlier checkpoint", *problem_);
  }
  log_warning("Model diverged with loss = NaN: {}; training stops", *problem_);
  context.request_stop(*problem_);
}

}  // namespace trainhook
