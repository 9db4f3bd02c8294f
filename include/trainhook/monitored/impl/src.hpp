// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of monitored/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/monitored/impl/chief_session_creator.ipp>
#include <trainhook/monitored/impl/last_error.ipp>
#include <trainhook/monitored/impl/live_session.ipp>
#include <trainhook/monitored/impl/merged_run.ipp>
#include <trainhook/monitored/impl/monitored_training_session.ipp>
#include <trainhook/monitored/impl/pending_stop.ipp>
#include <trainhook/monitored/impl/recovery_policy.ipp>
#include <trainhook/monitored/impl/session_creator.ipp>
#include <trainhook/monitored/impl/session_hooks.ipp>
#include <trainhook/monitored/impl/session_lifecycle.ipp>
#include <trainhook/monitored/impl/session_manager.ipp>
#include <trainhook/monitored/impl/session_peers.ipp>
