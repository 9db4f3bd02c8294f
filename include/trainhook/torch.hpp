// SPDX-License-Identifier: Apache-2.0
/// @file
/// The module for LibTorch: its modules, optimizers, generators and samplers as state of a LoopSession. The namespace
/// is `trainhook::libtorch`, so that `using namespace trainhook` leaves `torch::` alone.
#pragma once

#include <trainhook/torch/data_loader.hpp>
#include <trainhook/torch/modules.hpp>
#include <trainhook/torch/optimizers.hpp>
#include <trainhook/torch/sampler.hpp>
#include <trainhook/torch/tensors.hpp>
#include <trainhook/torch/values.hpp>
