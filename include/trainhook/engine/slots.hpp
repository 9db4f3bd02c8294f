// SPDX-License-Identifier: Apache-2.0
/// @file
/// Slots: the places in a frame for the values of a plan, given out again once the value in them is dead.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/plan.hpp>

namespace trainhook::detail {

/// Completes a plan whose values, steps and results are there: works out who uses each value and which step is the
/// last, gives the values slots, and lists the handles that each step releases.
TRAINHOOK_DECL void assign_slots(Plan& plan);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/slots.ipp>
#endif
