// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of model/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/model/impl/src_1.hpp>
#include <trainhook/model/graph_def/impl/src.hpp>
#include <trainhook/model/ops/impl/src.hpp>
