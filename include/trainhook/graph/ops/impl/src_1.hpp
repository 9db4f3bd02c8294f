// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arithmetic, and the ops that layers and optimizers are made of.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/graph/ops/impl/all_reduce.ipp>
#include <trainhook/graph/ops/impl/batch_matmul.ipp>
#include <trainhook/graph/ops/impl/clip.ipp>
#include <trainhook/graph/ops/impl/constant.ipp>
#include <trainhook/graph/ops/impl/conv.ipp>
#include <trainhook/graph/ops/impl/einsum.ipp>
#include <trainhook/graph/ops/impl/math.ipp>
#include <trainhook/graph/ops/impl/matrix.ipp>
#include <trainhook/graph/ops/impl/nn.ipp>
#include <trainhook/graph/ops/impl/normalization.ipp>
#include <trainhook/graph/ops/impl/random.ipp>
#include <trainhook/graph/ops/impl/registry.ipp>
#include <trainhook/graph/ops/impl/shape_rules.ipp>
#include <trainhook/graph/ops/impl/special.ipp>
#include <trainhook/graph/ops/impl/training.ipp>
