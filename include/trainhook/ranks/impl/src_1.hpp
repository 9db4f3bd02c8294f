// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of ranks/ but those of ranks/testing/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/ranks/impl/chief_status.ipp>
#include <trainhook/ranks/impl/collective.ipp>
#include <trainhook/ranks/impl/equal_variables.ipp>
#include <trainhook/ranks/impl/local_master.ipp>
#include <trainhook/ranks/impl/peers.ipp>
#include <trainhook/ranks/impl/rank_contents.ipp>
#include <trainhook/ranks/impl/rank_facts.ipp>
#include <trainhook/ranks/impl/rank_rounds.ipp>
#include <trainhook/ranks/impl/rank_session_creator.ipp>
#include <trainhook/ranks/impl/rank_state.ipp>
#include <trainhook/ranks/impl/rank_states_hook.ipp>
#include <trainhook/ranks/impl/sharded_save.ipp>
#include <trainhook/ranks/impl/share_variables.ipp>
#include <trainhook/ranks/impl/worker_session_creator.ipp>
#include <trainhook/ranks/impl/workers.ipp>
