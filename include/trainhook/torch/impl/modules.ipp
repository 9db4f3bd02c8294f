// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of modules.hpp.
#pragma once

#include <trainhook/torch/modules.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>

#include <fmt/format.h>
#include <torch/utils.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch {

// Expanded tensors have one element for many: a write needs memory for each of them.
inline void make_writable(const ::torch::Tensor& tensor) {
  if (tensor.numel() > 0 && std::ranges::count(tensor.strides(), 0) > 0) tensor.set_data(tensor.contiguous());
}

Variable add_tensor(LoopSession& loop, std::string_view name, const ::torch::Tensor& tensor, Snapshots snapshots) {
  if (!tensor.defined()) throw InvalidArgumentError("add_tensor: '{}' is an undefined tensor", name);
  if (tensor.layout() != ::torch::kStrided) {
    throw UnimplementedError(
        "add_tensor: '{}' has no strides, as sparse tensors have none; register the dense tensors that it is made of",
        name);
  }
  const ::torch::ScalarType type = tensor.scalar_type();
  const auto sizes = tensor.sizes().vec();
  const auto expect_same = [tensor, type, sizes, called = std::string(name)] {
    if (tensor.scalar_type() == type && tensor.sizes() == ::torch::IntArrayRef(sizes)) return;
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
                                    expect_same();
                                    const ::torch::NoGradGuard no_grad;
                                    on_host(bytes.data()).copy_(tensor);
                                  },
                              .write =
                                  [=](std::span<const std::byte> bytes) {
                                    expect_same();
                                    const ::torch::NoGradGuard no_grad;
                                    make_writable(tensor);
                                    tensor.copy_(on_host(bytes.data()));
                                  },
                              .snapshot =
                                  [=] {
                                    expect_same();
                                    return detail::snapshot_of(tensor, snapshots);
                                  },
                              .trainable = tensor.requires_grad()});
}

namespace detail {

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

}  // namespace detail

void add_module(LoopSession& loop, std::string_view name, const ::torch::nn::Module& module, Snapshots snapshots) {
  std::set<const void*> seen;
  for (const auto& tensors : {module.named_parameters(), module.named_buffers()}) {
    for (const auto& [called, tensor] : detail::new_ones(tensors, seen))
      add_tensor(loop, fmt::format("{}/{}", name, called), tensor, snapshots);
  }
}

}  // namespace trainhook::libtorch
