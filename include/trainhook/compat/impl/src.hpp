// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of compat/ but the kernels, for the one file of a program that compiles them itself; model/ is compiled
/// beside it.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/compat/impl/src_1.hpp>
#include <trainhook/compat/ops/impl/src.hpp>
