// SPDX-License-Identifier: Apache-2.0
/// @file
/// The place and shape of elements, parts of tensors, and queues.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/model/ops/impl/array.ipp>
#include <trainhook/model/ops/impl/indexing.ipp>
#include <trainhook/model/ops/impl/join.ipp>
#include <trainhook/model/ops/impl/queue.ipp>
#include <trainhook/model/ops/impl/resize.ipp>
#include <trainhook/model/ops/impl/slice.ipp>
#include <trainhook/model/ops/impl/split.ipp>
#include <trainhook/model/ops/impl/strided_slice.ipp>
