// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of session/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/session/impl/coordinator.ipp>
#include <trainhook/session/impl/feed.ipp>
#include <trainhook/session/impl/fetch_refs.ipp>
#include <trainhook/session/impl/hook_services.ipp>
#include <trainhook/session/impl/peers.ipp>
#include <trainhook/session/impl/run_args.ipp>
#include <trainhook/session/impl/run_context.ipp>
#include <trainhook/session/impl/second_or_step_timer.ipp>
#include <trainhook/session/impl/session_run_hook.ipp>
