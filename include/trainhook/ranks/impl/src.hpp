// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of ranks/, for the one file of a program that compiles them itself.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/ranks/impl/src_1.hpp>
#include <trainhook/ranks/testing/impl/src.hpp>
