// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of events/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/events/impl/dashboard_summaries.ipp>
#include <trainhook/events/impl/event_file.ipp>
#include <trainhook/events/impl/event_message.ipp>
#include <trainhook/events/impl/event_reader.ipp>
#include <trainhook/events/impl/file_writer.ipp>
#include <trainhook/events/impl/file_writer_cache.ipp>
#include <trainhook/events/impl/histogram.ipp>
#include <trainhook/events/impl/summary.ipp>
