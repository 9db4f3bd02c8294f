// SPDX-License-Identifier: Apache-2.0
/// @file
/// An error of one rank of a job, as the other ranks get it.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// The error as bytes. What would look like the end of input, or like a session that may be recreated, gets another
/// code: on the other ranks it is neither.
[[nodiscard]] TRAINHOOK_DECL std::string failure_bytes(const std::exception_ptr& error);

/// What they say. @throws std::out_of_range for no bytes.
[[nodiscard]] TRAINHOOK_DECL ErrorCode failure_code(std::string_view bytes);
[[nodiscard]] TRAINHOOK_DECL std::string_view failure_message(std::string_view bytes);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/rank_failure.ipp>
#endif
