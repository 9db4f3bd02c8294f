// SPDX-License-Identifier: Apache-2.0
/// @file
/// Slots: the places in a frame for the values of a plan, reused when the value in them is dead.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/plan.hpp>

namespace trainhook::detail {

/// Completes a plan that has its values, steps and results: finds the uses and the last step of each value, assigns
/// slots, and lists the handles that each step releases.
TRAINHOOK_DECL void assign_slots(Plan& plan);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/slots.ipp>
#endif
