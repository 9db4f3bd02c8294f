// SPDX-License-Identifier: Apache-2.0
/// @file
/// A learning rate that is a variable of a session: checked, read and changed by name.
#pragma once

#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// @param hook who asks, for the message. @throws NotFoundError if the session has no such variable,
/// InvalidArgumentError if it is not one float or double.
TRAINHOOK_DECL void require_learning_rate(SessionRef session, const std::string& name, std::string_view hook);

[[nodiscard]] TRAINHOOK_DECL double read_learning_rate(SessionRef session, const std::string& name);

/// Keeps the dtype of the variable.
TRAINHOOK_DECL void write_learning_rate(SessionRef session, const std::string& name, double rate);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/learning_rate_variable.ipp>
#endif
