// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of torch/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/torch/impl/lbfgs.ipp>
#include <trainhook/torch/impl/modules.ipp>
#include <trainhook/torch/impl/optimizers.ipp>
#include <trainhook/torch/impl/sampler.ipp>
#include <trainhook/torch/impl/tensors.ipp>
#include <trainhook/torch/impl/values.ipp>
