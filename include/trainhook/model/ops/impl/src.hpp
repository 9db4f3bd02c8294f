// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of model/ops/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/model/ops/impl/all_reduce.ipp>
#include <trainhook/model/ops/impl/array.ipp>
#include <trainhook/model/ops/impl/batch_matmul.ipp>
#include <trainhook/model/ops/impl/broadcast.ipp>
#include <trainhook/model/ops/impl/clip.ipp>
#include <trainhook/model/ops/impl/conv.ipp>
#include <trainhook/model/ops/impl/indexing.ipp>
#include <trainhook/model/ops/impl/join.ipp>
#include <trainhook/model/ops/impl/math.ipp>
#include <trainhook/model/ops/impl/matrix.ipp>
#include <trainhook/model/ops/impl/nn.ipp>
#include <trainhook/model/ops/impl/normalization.ipp>
#include <trainhook/model/ops/impl/queue.ipp>
#include <trainhook/model/ops/impl/random.ipp>
#include <trainhook/model/ops/impl/registry.ipp>
#include <trainhook/model/ops/impl/resize.ipp>
#include <trainhook/model/ops/impl/slice.ipp>
#include <trainhook/model/ops/impl/special.ipp>
#include <trainhook/model/ops/impl/split.ipp>
#include <trainhook/model/ops/impl/strided_slice.ipp>
#include <trainhook/model/ops/impl/training.ipp>
