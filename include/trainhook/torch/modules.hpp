// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_module: the parameters and buffers of a LibTorch module as variables of a loop. add_generators: LibTorch's
/// random numbers, of dropout and initial values, continue after a resume.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <torch/nn/module.h>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch {

/// Makes `tensor` a variable of the loop: the tensor that it refers to at that time is saved, and a restore writes into
/// its memory, also after `hidden = next.detach()`, `set_data`, `to` or `load`. `tensor` must outlive the session and
/// stay where it is. Dtype and shape must stay as they are. Any device and memory format.
/// @throws UnimplementedError for a dtype that this library lacks and for a sparse tensor, InvalidArgumentError for an
/// undefined one.
TRAINHOOK_DECL Variable add_tensor(LoopSession& loop, std::string_view name, const ::torch::Tensor& tensor,
                                   Snapshots snapshots = Snapshots::OnHost);
TRAINHOOK_MISTAKE("this tensor is gone after the call: give it a name that lives longer than the session",
                  class Temporary)
Variable add_tensor(LoopSession& loop, std::string_view name, const Temporary&& tensor,
                    Snapshots snapshots = Snapshots::OnHost) TRAINHOOK_REFUSED;

/// Makes each parameter and buffer of a module a variable, called `<name>/<its name>`: `net/fc1.weight`. Parameters
/// that require no gradient, and buffers, are not trainable. A tensor that the module has under several names, such as
/// a tied weight, is one variable, under the first of them. The tensor that has the name at that time is saved and
/// restored, also after `replace_module`; what a class assigns to its own member, `weight = other`, the module does not
/// know. If the module has more names or fewer than when it was registered, a save is a FailedPreconditionError. The
/// module must outlive the session.
TRAINHOOK_DECL void add_module(LoopSession& loop, std::string_view name, const ::torch::nn::Module& module,
                               Snapshots snapshots = Snapshots::OnHost);

namespace detail {

using NamedTensors = std::vector<std::pair<std::string, ::torch::Tensor>>;

/// The module's parameters with their names, each once.
[[nodiscard]] TRAINHOOK_DECL NamedTensors parameters_of(const ::torch::nn::Module& module);

/// The parameter or buffer that has this name now, or an undefined tensor.
[[nodiscard]] TRAINHOOK_DECL ::torch::Tensor find_tensor(const ::torch::nn::Module& module, std::string_view name);

}  // namespace detail

/// Saves and restores a generator.
TRAINHOOK_DECL void add_generator(LoopSession& loop, std::string_view name, ::at::Generator generator);

/// Saves and restores the default generator of the CPU, called `<name>/cpu`, and of each CUDA device that the program
/// has, called `<name>/cuda_<number>`.
TRAINHOOK_DECL void add_generators(LoopSession& loop, std::string_view name = "torch_generators");

}  // namespace trainhook::libtorch

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/modules.ipp>
#endif
