// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of graph/ops/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/graph/ops/impl/cast.ipp>
#include <trainhook/graph/ops/impl/constant.ipp>
#include <trainhook/graph/ops/impl/control_flow.ipp>
#include <trainhook/graph/ops/impl/restore.ipp>
#include <trainhook/graph/ops/impl/shape_rules.ipp>
#include <trainhook/graph/ops/impl/state.ipp>
#include <trainhook/graph/ops/impl/summary.ipp>
