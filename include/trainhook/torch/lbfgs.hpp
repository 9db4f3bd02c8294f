// SPDX-License-Identifier: Apache-2.0
/// @file
/// The state of LBFGS, which has one for all parameters.
#pragma once

#include <string_view>

#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <torch/optim/lbfgs.h>

#include <trainhook/core/linkage.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch::detail {

/// See `add_optimizer`.
TRAINHOOK_DECL void add_lbfgs(LoopSession& loop, std::string_view name, ::torch::optim::LBFGS& optimizer,
                              Snapshots snapshots);

}  // namespace trainhook::libtorch::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/lbfgs.ipp>
#endif
