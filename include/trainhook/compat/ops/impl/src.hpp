// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of the ops of compat/ops/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/compat/ops/impl/control_flow.ipp>
#include <trainhook/compat/ops/impl/einsum.ipp>
#include <trainhook/compat/ops/impl/local_response.ipp>
#include <trainhook/compat/ops/impl/partition.ipp>
#include <trainhook/compat/ops/impl/rearrange.ipp>
#include <trainhook/compat/ops/impl/sparse_training.ipp>
#include <trainhook/compat/ops/impl/truncation.ipp>
