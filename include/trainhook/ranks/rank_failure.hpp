// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankFailure: the error of a rank, on its way to the other ranks of a job.
#pragma once

#include <exception>
#include <string>
#include <tuple>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

struct RankFailure {
  ErrorCode code{};
  std::string message{};
};
template <>
inline constexpr auto kFields<RankFailure> =
    std::tuple(field(1, "code", &RankFailure::code), field(2, "message", &RankFailure::message));

/// A code that means the end of input or the loss of a session is replaced, because on the other ranks it is neither.
[[nodiscard]] TRAINHOOK_DECL RankFailure failure_of(const std::exception_ptr& error);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_failure.ipp>
#endif
