// SPDX-License-Identifier: Apache-2.0
/// @file
/// Vector kernels: products of matrices, convolutions and pooling.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/engine/kernels/impl/conv.ipp>
#include <trainhook/engine/kernels/impl/depthwise.ipp>
#include <trainhook/engine/kernels/impl/matmul.ipp>
#include <trainhook/engine/kernels/impl/pool.ipp>
