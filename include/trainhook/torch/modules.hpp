// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_module: the parameters and buffers of a LibTorch module as variables of a loop.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <torch/nn/module.h>

#include <trainhook/core/linkage.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch {

/// Makes a tensor a variable, by its handle: whatever `set_data`, `to` or `load` puts behind it later is saved and
/// restored. Dtype and shape must stay as they are. Any device and memory format.
/// @throws UnimplementedError for a dtype that this library lacks and for a sparse tensor, InvalidArgumentError for an
/// undefined one.
TRAINHOOK_DECL Variable add_tensor(LoopSession& loop, std::string_view name, const ::torch::Tensor& tensor,
                                   Snapshots snapshots = Snapshots::OnHost);

/// Makes each parameter and buffer of a module a variable, called `<name>/<its name>`: `net/fc1.weight`. Parameters
/// that require no gradient, and buffers, are not trainable. A tensor that the module has under several names, such as
/// a tied weight, is one variable, under the first of them. The module must outlive the session.
TRAINHOOK_DECL void add_module(LoopSession& loop, std::string_view name, const ::torch::nn::Module& module,
                               Snapshots snapshots = Snapshots::OnHost);

namespace detail {

using NamedTensors = std::vector<std::pair<std::string, ::torch::Tensor>>;

/// The module's parameters with their names, each once.
[[nodiscard]] TRAINHOOK_DECL NamedTensors parameters_of(const ::torch::nn::Module& module);

}  // namespace detail
}  // namespace trainhook::libtorch

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/modules.ipp>
#endif
