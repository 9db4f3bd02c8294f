// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/torch/generators.hpp>

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <torch/cuda.h>
#include <torch/utils.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch {

void add_generator(LoopSession& loop, std::string_view name, ::at::Generator generator) {
  const auto state = [](::at::Generator of) {
    const std::scoped_lock lock(of.mutex());
    return of.get_state();
  };
  trainhook::detail::LoopAccess::add_state(
      loop, {.name = std::string(name),
             .dtype = DType::UInt8,
             .shape = PartialShape{kUnknownDim},
             .save = [generator, state] { return to_tensor(state(generator)); },
             .prepare = [generator, called = std::string(name)](const Tensor& value) -> std::function<void()> {
               return [generator, value, called] {
                 ::at::Generator target = generator;
                 const std::scoped_lock lock(target.mutex());
                 try {
                   target.set_state(from_tensor(value));
                 } catch (const std::exception& error) {
                   throw InvalidArgumentError(
                       "LibTorch refuses the saved state '{}'; a generator of another kind, or another version of "
                       "LibTorch, saved it: {}",
                       called, error.what());
                 }
               };
             },
             .may_fail = true,
             .is_generator = true});
}

void add_generators(LoopSession& loop, std::string_view name) {
  add_generator(loop, fmt::format("{}/cpu", name), ::at::detail::getDefaultCPUGenerator());
  const auto devices = static_cast<int>(::torch::cuda::device_count());
  for (int device = 0; device < devices; ++device) {
    add_generator(
        loop, fmt::format("{}/cuda_{}", name, device),
        ::at::globalContext().defaultGenerator(::at::Device(::at::kCUDA, static_cast<::at::DeviceIndex>(device))));
  }
}

}  // namespace trainhook::libtorch
