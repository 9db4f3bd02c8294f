// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of engine/kernels/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/engine/kernels/impl/src_1.hpp>
#include <trainhook/engine/kernels/impl/src_2.hpp>
#include <trainhook/engine/kernels/impl/src_3.hpp>
#include <trainhook/engine/kernels/impl/src_4.hpp>
#include <trainhook/engine/kernels/impl/src_5.hpp>
