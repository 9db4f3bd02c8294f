// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of loop/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/loop/impl/bound_state.ipp>
#include <trainhook/loop/impl/loop_session.ipp>
#include <trainhook/loop/impl/loop_state.ipp>
#include <trainhook/loop/impl/variable_memory.ipp>
#include <trainhook/loop/impl/state_binding.ipp>
#include <trainhook/loop/impl/state_form.ipp>
