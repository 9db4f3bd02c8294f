// SPDX-License-Identifier: Apache-2.0
/// @file
/// Converts the error of a rank for the other ranks of a job.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// The error as bytes. A code that means the end of input or the loss of a session is replaced, because on the other
/// ranks it is neither.
[[nodiscard]] TRAINHOOK_DECL std::string failure_bytes(const std::exception_ptr& error);

/// The code in the bytes. @throws std::out_of_range if they are empty.
[[nodiscard]] TRAINHOOK_DECL ErrorCode failure_code(std::string_view bytes);
[[nodiscard]] TRAINHOOK_DECL std::string_view failure_message(std::string_view bytes);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_failure.ipp>
#endif
