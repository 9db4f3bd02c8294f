// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of engine/, for the one file of a program that compiles them itself; model/ and media/ are compiled
/// beside it.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/engine/impl/src_1.hpp>
#include <trainhook/engine/kernels/impl/src.hpp>
