// SPDX-License-Identifier: Apache-2.0
/// @file
/// Vector kernels: activations, losses, reductions and optimizers; and the table of them all.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/engine/kernels/impl/nn.ipp>
#include <trainhook/engine/kernels/impl/normalization.ipp>
#include <trainhook/engine/kernels/impl/reduction.ipp>
#include <trainhook/engine/kernels/impl/training.ipp>
#include <trainhook/engine/kernels/impl/vector_kernels.ipp>
