// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of ranks/, for the one file of a program that compiles them itself.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/ranks/impl/collective.ipp>
#include <trainhook/ranks/impl/peers.ipp>
#include <trainhook/ranks/impl/rank_agreement.ipp>
#include <trainhook/ranks/impl/rank_facts.ipp>
#include <trainhook/ranks/impl/rank_failure.ipp>
#include <trainhook/ranks/impl/rank_session_creator.ipp>
#include <trainhook/ranks/impl/rank_shards.ipp>
#include <trainhook/ranks/impl/rank_state.ipp>
#include <trainhook/ranks/impl/rank_states_hook.ipp>
#include <trainhook/ranks/impl/sharded_save.ipp>
#include <trainhook/ranks/impl/share_variables.ipp>
#include <trainhook/ranks/impl/variable_digests.ipp>
