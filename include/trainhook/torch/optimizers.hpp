// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_optimizer: the state of LibTorch's optimizers, parameter by parameter. add_state: that of its schedules.
#pragma once

#include <string_view>

#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/schedulers/lr_scheduler.h>

#include <trainhook/core/linkage.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/torch/tensors.hpp>

namespace trainhook::libtorch {

/// Saves and restores an Adam, AdamW, SGD, RMSprop, Adagrad or LBFGS, as tensors whose names do not change from run to
/// run: `<name>/<parameter>/exp_avg` and `<name>/<parameter>/step` for each parameter, named as in `module`, and
/// `<name>/group_0/lr` for each option of each group. Those of LBFGS, which has one state for all parameters, are
/// called `<name>/all/...`; its `max_eval` and `line_search_fn` are the program's. What the optimizer has not made yet,
/// such as the first momentum, stays absent after a restore: in the checkpoint it is an empty tensor, or -1. Optimizer
/// and module must outlive the session.
/// @throws UnimplementedError for another optimizer, InvalidArgumentError for a parameter that `module` does not have
/// (an LBFGS needs none there).
TRAINHOOK_DECL void add_optimizer(LoopSession& loop, std::string_view name, ::torch::optim::Optimizer& optimizer,
                                  const ::torch::nn::Module& module, Snapshots snapshots = Snapshots::OnHost);

/// Saves and restores how many steps a schedule has made; the rates are the optimizer's. The schedule must outlive the
/// session.
TRAINHOOK_DECL void add_state(LoopSession& loop, std::string_view name, ::torch::optim::LRScheduler& schedule);

}  // namespace trainhook::libtorch

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/optimizers.ipp>
#endif
