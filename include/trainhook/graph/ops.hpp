// SPDX-License-Identifier: Apache-2.0
/// @file
/// All op builders. Each family of ops has a file in graph/ops/.
#pragma once

#include <trainhook/graph/ops/all_reduce.hpp>
#include <trainhook/graph/ops/array.hpp>
#include <trainhook/graph/ops/clip.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/conv.hpp>
#include <trainhook/graph/ops/einsum.hpp>
#include <trainhook/graph/ops/indexing.hpp>
#include <trainhook/graph/ops/join.hpp>
#include <trainhook/graph/ops/math.hpp>
#include <trainhook/graph/ops/matrix.hpp>
#include <trainhook/graph/ops/nn.hpp>
#include <trainhook/graph/ops/normalization.hpp>
#include <trainhook/graph/ops/partition.hpp>
#include <trainhook/graph/ops/queue.hpp>
#include <trainhook/graph/ops/random.hpp>
#include <trainhook/graph/ops/rearrange.hpp>
#include <trainhook/graph/ops/resize.hpp>
#include <trainhook/graph/ops/restore.hpp>
#include <trainhook/graph/ops/slice.hpp>
#include <trainhook/graph/ops/special.hpp>
#include <trainhook/graph/ops/split.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/strided_slice.hpp>
#include <trainhook/graph/ops/summary.hpp>
