// SPDX-License-Identifier: Apache-2.0
/// @file
/// Plans, schedules and sessions.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/engine/impl/conditions.ipp>
#include <trainhook/engine/impl/eigen_session.ipp>
#include <trainhook/engine/impl/graph_session.ipp>
#include <trainhook/engine/impl/initial_values.ipp>
#include <trainhook/engine/impl/kernel.ipp>
#include <trainhook/engine/impl/kernel_threads.ipp>
#include <trainhook/engine/impl/kernel_width.ipp>
#include <trainhook/engine/impl/plan.ipp>
#include <trainhook/engine/impl/planner.ipp>
#include <trainhook/engine/impl/profiler_hook.ipp>
#include <trainhook/engine/impl/schedule.ipp>
#include <trainhook/engine/impl/slots.ipp>
