// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arrays, the movement of their elements, selection, rankings, and images of other sizes.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/engine/kernels/impl/array.ipp>
#include <trainhook/engine/kernels/impl/movement.ipp>
#include <trainhook/engine/kernels/impl/ranking.ipp>
#include <trainhook/engine/kernels/impl/resize.ipp>
#include <trainhook/engine/kernels/impl/selection.ipp>
#include <trainhook/engine/kernels/impl/strided_slice.ipp>
