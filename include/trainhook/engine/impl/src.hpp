// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of engine/, for the one file of a program that compiles them; media/ is compiled beside it.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/engine/impl/conditions.ipp>
#include <trainhook/engine/impl/constant_folding.ipp>
#include <trainhook/engine/impl/denormals.ipp>
#include <trainhook/engine/impl/eigen_session.ipp>
#include <trainhook/engine/impl/graph_session.ipp>
#include <trainhook/engine/impl/initial_values.ipp>
#include <trainhook/engine/impl/kernel.ipp>
#include <trainhook/engine/impl/node_kinds.ipp>
#include <trainhook/engine/impl/plan.ipp>
#include <trainhook/engine/impl/planner.ipp>
#include <trainhook/engine/impl/schedule.ipp>
#include <trainhook/engine/impl/slots.ipp>

#include <trainhook/engine/kernels/impl/all_reduce.ipp>
#include <trainhook/engine/kernels/impl/array.ipp>
#include <trainhook/engine/kernels/impl/control_flow.ipp>
#include <trainhook/engine/kernels/impl/conv.ipp>
#include <trainhook/engine/kernels/impl/data.ipp>
#include <trainhook/engine/kernels/impl/depthwise.ipp>
#include <trainhook/engine/kernels/impl/einsum.ipp>
#include <trainhook/engine/kernels/impl/math.ipp>
#include <trainhook/engine/kernels/impl/matmul.ipp>
#include <trainhook/engine/kernels/impl/movement.ipp>
#include <trainhook/engine/kernels/impl/nn.ipp>
#include <trainhook/engine/kernels/impl/normalization.ipp>
#include <trainhook/engine/kernels/impl/partition.ipp>
#include <trainhook/engine/kernels/impl/pool.ipp>
#include <trainhook/engine/kernels/impl/queue.ipp>
#include <trainhook/engine/kernels/impl/random.ipp>
#include <trainhook/engine/kernels/impl/ranking.ipp>
#include <trainhook/engine/kernels/impl/rearrange.ipp>
#include <trainhook/engine/kernels/impl/reduction.ipp>
#include <trainhook/engine/kernels/impl/resize.ipp>
#include <trainhook/engine/kernels/impl/restore.ipp>
#include <trainhook/engine/kernels/impl/selection.ipp>
#include <trainhook/engine/kernels/impl/sparse_training.ipp>
#include <trainhook/engine/kernels/impl/special.ipp>
#include <trainhook/engine/kernels/impl/state.ipp>
#include <trainhook/engine/kernels/impl/strided_slice.ipp>
#include <trainhook/engine/kernels/impl/summary.ipp>
#include <trainhook/engine/kernels/impl/training.ipp>
