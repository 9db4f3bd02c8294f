// SPDX-License-Identifier: Apache-2.0
/// @file
/// VariableDigests: tells whether the ranks of a job still train the same model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// The digests of the variables that must be equal on all ranks, on one rank after one step.
struct VariableDigests {
  std::int64_t step = 0;
  std::vector<std::uint32_t> values{};  ///< one for each variable that `equal_variables` returns
};

/// Those of a session. Reads each of these variables once.
[[nodiscard]] TRAINHOOK_DECL VariableDigests digests_of(SessionRef session, std::int64_t step);

/// @param session rank 0's, for the names
/// @param of_ranks the digests of all ranks; those of another step than rank 0's are not compared
/// @throws FailedPreconditionError if the variables of a rank differ from those of rank 0.
TRAINHOOK_DECL void expect_equal_variables(SessionRef session, std::span<const VariableDigests> of_ranks);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/variable_digests.ipp>
#endif
