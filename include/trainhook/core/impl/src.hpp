// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of core/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/core/impl/buffer.ipp>
#include <trainhook/core/impl/buffer_pool.ipp>
#include <trainhook/core/impl/clock.ipp>
#include <trainhook/core/impl/coding.ipp>
#include <trainhook/core/impl/dtype.ipp>
#include <trainhook/core/impl/duration.ipp>
#include <trainhook/core/impl/error.ipp>
#include <trainhook/core/impl/format.ipp>
#include <trainhook/core/impl/linkage.ipp>
#include <trainhook/core/impl/log.ipp>
#include <trainhook/core/impl/names_in_messages.ipp>
#include <trainhook/core/impl/process_mark.ipp>
#include <trainhook/core/impl/random.ipp>
#include <trainhook/core/impl/real_numbers.ipp>
#include <trainhook/core/impl/saveable.ipp>
#include <trainhook/core/impl/shape.ipp>
#include <trainhook/core/impl/tensor.ipp>
#include <trainhook/core/impl/thread.ipp>
#include <trainhook/core/impl/user_call.ipp>
#include <trainhook/core/impl/utf8.ipp>
#include <trainhook/core/impl/write_signals.ipp>
