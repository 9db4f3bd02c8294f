// SPDX-License-Identifier: Apache-2.0
/// @file
/// The place and shape of elements, control flow, state, input, files and summaries.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/graph/ops/impl/array.ipp>
#include <trainhook/graph/ops/impl/control_flow.ipp>
#include <trainhook/graph/ops/impl/indexing.ipp>
#include <trainhook/graph/ops/impl/iterator.ipp>
#include <trainhook/graph/ops/impl/join.ipp>
#include <trainhook/graph/ops/impl/partition.ipp>
#include <trainhook/graph/ops/impl/queue.ipp>
#include <trainhook/graph/ops/impl/rearrange.ipp>
#include <trainhook/graph/ops/impl/resize.ipp>
#include <trainhook/graph/ops/impl/restore.ipp>
#include <trainhook/graph/ops/impl/slice.ipp>
#include <trainhook/graph/ops/impl/split.ipp>
#include <trainhook/graph/ops/impl/state.ipp>
#include <trainhook/graph/ops/impl/strided_slice.ipp>
#include <trainhook/graph/ops/impl/summary.ipp>
