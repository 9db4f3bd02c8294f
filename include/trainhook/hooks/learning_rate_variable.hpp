// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks, reads and changes a learning rate that is a variable of a session.
#pragma once

#include <string>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// The dtype of the variable. @param hook names the hook in messages. @throws NotFoundError if the session has no such
/// variable, InvalidArgumentError if it is not one float or double.
[[nodiscard]] TRAINHOOK_DECL DType require_learning_rate(SessionRef session, const std::string& name,
                                                         std::string_view hook);

[[nodiscard]] TRAINHOOK_DECL double read_learning_rate(SessionRef session, const std::string& name);

/// @param dtype that of the variable.
TRAINHOOK_DECL void write_learning_rate(SessionRef session, const std::string& name, DType dtype, double rate);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/learning_rate_variable.ipp>
#endif
