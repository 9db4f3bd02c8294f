// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_value and add_histograms: what hooks and TensorBoard see of LibTorch's tensors.
#pragma once

#include <string_view>

#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <torch/nn/module.h>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/loop/loop_session.hpp>

namespace trainhook::libtorch {

/// A value that hooks can fetch: the only element of `tensor`, which the step assigns. It is copied from its device
/// only in steps in which a hook asks. NaN before the first step. `tensor` must outlive the session and stay where it
/// is.
TRAINHOOK_DECL Output add_value(LoopSession& loop, std::string_view name, const ::torch::Tensor& tensor);
TRAINHOOK_MISTAKE("this tensor is gone after the call: give it a name that lives longer than the session",
                  class Temporary)
Output add_value(LoopSession& loop, std::string_view name, const Temporary&& tensor) TRAINHOOK_REFUSED;

/// A histogram of each parameter of a module for TensorBoard, called `<name>/<its name>`, and with `gradients` of each
/// gradient, `<name>/<its name>/gradient`: of the parameter that has the name at that time. Values that are not finite
/// are left out. The module must outlive the session.
TRAINHOOK_DECL void add_histograms(LoopSession& loop, std::string_view name, const ::torch::nn::Module& module,
                                   bool gradients = false);

}  // namespace trainhook::libtorch

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/values.ipp>
#endif
