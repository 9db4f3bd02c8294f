// SPDX-License-Identifier: Apache-2.0
/// @file
/// share_variables: all ranks of a job get the values of one.
#pragma once

#include <string>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// Replaces the values of this rank's variables, except strings, by those of the rank that is the source. All ranks
/// must make the call, and their sessions must have the same variables.
/// @param broadcast returns the bytes of the source on every rank; those of the others are ignored
TRAINHOOK_DECL void share_variables(SessionRef session, bool is_source,
                                    FunctionRef<std::string(std::string)> broadcast);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/share_variables.ipp>
#endif
