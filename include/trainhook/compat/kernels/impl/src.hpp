// SPDX-License-Identifier: Apache-2.0
/// @file
/// All kernels of compat/kernels/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/compat/kernels/impl/control_flow.ipp>
#include <trainhook/compat/kernels/impl/einsum.ipp>
#include <trainhook/compat/kernels/impl/kernels.ipp>
#include <trainhook/compat/kernels/impl/local_response.ipp>
#include <trainhook/compat/kernels/impl/partition.ipp>
#include <trainhook/compat/kernels/impl/rearrange.ipp>
#include <trainhook/compat/kernels/impl/scatter.ipp>
#include <trainhook/compat/kernels/impl/sparse_training.ipp>
#include <trainhook/compat/kernels/impl/truncation.ipp>
