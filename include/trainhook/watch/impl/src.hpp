// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of watch/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/watch/impl/prometheus_textfile_hook.ipp>
#include <trainhook/watch/impl/throughput_hook.ipp>
#include <trainhook/watch/impl/time_limit_hook.ipp>
#include <trainhook/watch/impl/watchdog_hook.ipp>
