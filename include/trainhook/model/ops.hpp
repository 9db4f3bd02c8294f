// SPDX-License-Identifier: Apache-2.0
/// @file
/// All op builders. Each family of ops has a file in model/ops/ or graph/ops/.
#pragma once

#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/restore.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/model/ops/all_reduce.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/broadcast.hpp>
#include <trainhook/model/ops/clip.hpp>
#include <trainhook/model/ops/conv.hpp>
#include <trainhook/model/ops/indexing.hpp>
#include <trainhook/model/ops/join.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/ops/nn.hpp>
#include <trainhook/model/ops/normalization.hpp>
#include <trainhook/model/ops/queue.hpp>
#include <trainhook/model/ops/random.hpp>
#include <trainhook/model/ops/resize.hpp>
#include <trainhook/model/ops/slice.hpp>
#include <trainhook/model/ops/special.hpp>
#include <trainhook/model/ops/split.hpp>
#include <trainhook/model/ops/strided_slice.hpp>
