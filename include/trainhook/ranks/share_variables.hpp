// SPDX-License-Identifier: Apache-2.0
/// @file
/// share_variables: copies the variables of one rank to all ranks of a job.
#pragma once

#include <string>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// Replaces the values of this rank's variables, except strings, by those of the source rank. All ranks must call it,
/// and their sessions must have the same variables.
/// @param broadcast returns the source's bytes on every rank and ignores those of the others; it is called once for
/// some 16 MiB of variables
TRAINHOOK_DECL void share_variables(SessionRef session, bool is_source,
                                    FunctionRef<std::string(std::string)> broadcast);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/share_variables.ipp>
#endif
