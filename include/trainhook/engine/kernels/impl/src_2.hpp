// SPDX-License-Identifier: Apache-2.0
/// @file
/// State, input, random numbers, files, summaries and several processes.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/engine/kernels/impl/all_reduce.ipp>
#include <trainhook/engine/kernels/impl/data.ipp>
#include <trainhook/engine/kernels/impl/queue.ipp>
#include <trainhook/engine/kernels/impl/random.ipp>
#include <trainhook/engine/kernels/impl/restore.ipp>
#include <trainhook/engine/kernels/impl/state.ipp>
#include <trainhook/engine/kernels/impl/summary.ipp>
