// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/torch/modules.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <torch/cuda.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch {

// Expanded tensors have one element for many: a write needs memory for each of them.
inline void make_writable(const ::torch::Tensor& tensor) {
  if (tensor.numel() > 0 && std::ranges::count(tensor.strides(), 0) > 0) tensor.set_data(tensor.contiguous());
}

namespace detail {

// A variable of the tensor that `now` returns.
inline Variable add_tensor_of(LoopSession& loop, std::string_view name, std::function<::torch::Tensor()> now,
                              Snapshots snapshots) {
  const ::torch::Tensor first = now();
  if (!first.defined()) throw InvalidArgumentError("add_tensor: '{}' is an undefined tensor", name);
  if (first.layout() != ::torch::kStrided) {
    throw UnimplementedError(
        "add_tensor: '{}' has no strides, as sparse tensors have none; register the dense tensors that it is made of",
        name);
  }
  const ::torch::ScalarType type = first.scalar_type();
  const auto sizes = first.sizes().vec();
  const auto tensor_now = [now = std::move(now), type, sizes, called = std::string(name)] {
    ::torch::Tensor tensor = now();
    if (!tensor.defined() || tensor.layout() != ::torch::kStrided)
      throw FailedPreconditionError("there is no dense tensor '{}' any more, which was registered", called);
    if (tensor.scalar_type() == type && tensor.sizes() == ::torch::IntArrayRef(sizes)) return tensor;
    throw FailedPreconditionError(
        "the tensor '{}' was {}{} when it was registered and is {}{} now: convert and resize before that", called,
        ::torch::toString(type), Shape(std::span<const std::int64_t>(sizes)), ::torch::toString(tensor.scalar_type()),
        Shape(std::span<const std::int64_t>(tensor.sizes().data(), tensor.sizes().size())));
  };
  // The host's memory as a tensor, so that one copy goes from or to any device and memory format.
  const auto on_host = [type, sizes](const std::byte* bytes) {
    return ::torch::from_blob(const_cast<std::byte*>(bytes), sizes, type);
  };
  return loop.variable(name, {.dtype = dtype_of(type, fmt::format("the tensor '{}'", name)),
                              .shape = Shape(std::span<const std::int64_t>(sizes)),
                              .read =
                                  [=](std::span<std::byte> bytes) {
                                    const ::torch::Tensor tensor = tensor_now();
                                    const ::torch::NoGradGuard no_grad;
                                    on_host(bytes.data()).copy_(tensor);
                                  },
                              .write =
                                  [=](std::span<const std::byte> bytes) {
                                    const ::torch::Tensor tensor = tensor_now();
                                    const ::torch::NoGradGuard no_grad;
                                    make_writable(tensor);
                                    tensor.copy_(on_host(bytes.data()));
                                  },
                              .snapshot = [=] { return snapshot_of(tensor_now(), snapshots); },
                              .trainable = first.requires_grad()});
}

// Those that were not seen before.
inline NamedTensors new_ones(const ::torch::OrderedDict<std::string, ::torch::Tensor>& tensors,
                             std::set<const void*>& seen) {
  NamedTensors added;
  for (const auto& entry : tensors) {
    if (entry.value().defined() && seen.insert(entry.value().unsafeGetTensorImpl()).second)
      added.emplace_back(entry.key(), entry.value());
  }
  return added;
}

NamedTensors parameters_of(const ::torch::nn::Module& module) {
  std::set<const void*> seen;
  return new_ones(module.named_parameters(), seen);
}

inline NamedTensors tensors_of(const ::torch::nn::Module& module) {
  std::set<const void*> seen;
  NamedTensors all = new_ones(module.named_parameters(), seen);
  std::ranges::move(new_ones(module.named_buffers(), seen), std::back_inserter(all));
  return all;
}

::torch::Tensor find_tensor(const ::torch::nn::Module& module, std::string_view name) {
  if (const std::size_t dot = name.find('.'); dot != std::string_view::npos) {
    const auto children = module.named_children();
    const std::shared_ptr<::torch::nn::Module>* const child = children.find(std::string(name.substr(0, dot)));
    return child == nullptr ? ::torch::Tensor() : find_tensor(**child, name.substr(dot + 1));
  }
  for (const auto& tensors : {module.named_parameters(false), module.named_buffers(false)})
    if (const ::torch::Tensor* const found = tensors.find(std::string(name))) return *found;
  return {};
}

// Adds the tensors that a layer of one of these types computes with.
template <class... Layer>
void add_members(const ::torch::nn::Module& module, const std::string& prefix, NamedTensors& found) {
  const auto add = [&](const auto* layer) {
    if (layer == nullptr) return;
    if constexpr (requires { layer->weight; }) found.emplace_back(prefix + "weight", layer->weight);
    if constexpr (requires { layer->bias; }) found.emplace_back(prefix + "bias", layer->bias);
    if constexpr (requires { layer->running_mean; }) found.emplace_back(prefix + "running_mean", layer->running_mean);
    if constexpr (requires { layer->running_var; }) found.emplace_back(prefix + "running_var", layer->running_var);
  };
  (add(dynamic_cast<const Layer*>(&module)), ...);
}

// Those of LibTorch's layers: a program may assign them, which the module does not hear of.
[[nodiscard]] inline NamedTensors members_of_layers(const ::torch::nn::Module& module) {
  namespace nn = ::torch::nn;
  NamedTensors found;
  const auto add = [&found](const nn::Module& layer, const std::string& prefix) {
    add_members<nn::LinearImpl, nn::BilinearImpl, nn::EmbeddingImpl, nn::EmbeddingBagImpl, nn::Conv1dImpl,
                nn::Conv2dImpl, nn::Conv3dImpl, nn::ConvTranspose1dImpl, nn::ConvTranspose2dImpl,
                nn::ConvTranspose3dImpl, nn::BatchNorm1dImpl, nn::BatchNorm2dImpl, nn::BatchNorm3dImpl,
                nn::InstanceNorm1dImpl, nn::InstanceNorm2dImpl, nn::InstanceNorm3dImpl, nn::LayerNormImpl,
                nn::GroupNormImpl, nn::PReLUImpl>(layer, prefix, found);
  };
  add(module, "");
  for (const auto& layer : module.named_modules(std::string(), false)) add(*layer.value(), layer.key() + ".");
  return found;
}

// Layers may have come, and tensors that the module does not know of.
inline void expect_known(std::string_view name, const ::torch::nn::Module& module,
                         const std::vector<std::string>& names) {
  std::set<const void*> known;
  for (const auto& [called, tensor] : tensors_of(module)) {
    known.insert(tensor.unsafeGetTensorImpl());
    if (std::ranges::find(names, called) == names.end()) {
      throw FailedPreconditionError(
          "the module '{}' has a tensor '{}' that it did not have when it was registered: change layers before "
          "add_module",
          name, called);
    }
  }
  for (const auto& [called, tensor] : members_of_layers(module)) {
    if (tensor.defined() && !known.contains(tensor.unsafeGetTensorImpl())) {
      throw FailedPreconditionError(
          "the tensor '{}' of the module '{}' was assigned, but the module has another one by that name, which the "
          "optimizer and a save would take: copy the values into it, or use replace_module",
          called, name);
    }
  }
}

}  // namespace detail

Variable add_tensor(LoopSession& loop, std::string_view name, const ::torch::Tensor& tensor, Snapshots snapshots) {
  return detail::add_tensor_of(
      loop, name, [&tensor] { return tensor; }, snapshots);
}

void add_module(LoopSession& loop, std::string_view name, const ::torch::nn::Module& module, Snapshots snapshots) {
  std::vector<std::string> names;
  for (const auto& [called, tensor] : detail::tensors_of(module)) names.push_back(called);
  for (const std::string& called : names) {
    const auto now = [&module, called, name = std::string(name),
                      names = &called == &names.front() ? names : std::vector<std::string>()] {
      if (!names.empty()) detail::expect_known(name, module, names);  // once in a save
      return detail::find_tensor(module, called);
    };
    detail::add_tensor_of(loop, fmt::format("{}/{}", name, called), now, snapshots);
  }
}

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
