// SPDX-License-Identifier: Apache-2.0
/// @file
/// Vector kernels: arithmetic and functions of elements.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/engine/kernels/impl/math.ipp>
#include <trainhook/engine/kernels/impl/special.ipp>
