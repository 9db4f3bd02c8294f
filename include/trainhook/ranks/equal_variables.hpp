// SPDX-License-Identifier: Apache-2.0
/// @file
/// equal_variables: those that all ranks of a job train alike, and whether they are equal.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Graph;

}  // namespace trainhook

namespace trainhook::detail {

/// The variables that are equal on all ranks: the trained ones, and those whose names start with a trained one's, such
/// as optimizer slots; not the moving averages of each rank's batches. Without strings.
[[nodiscard]] TRAINHOOK_DECL std::vector<StateSpec> equal_variables(const std::vector<StateSpec>& state,
                                                                    const Graph& graph);

/// The digests of the variables that must be equal on all ranks, on one rank after one step.
struct VariableDigests {
  std::int64_t step = 0;
  std::vector<std::uint32_t> values{};  ///< one for each variable that `equal_variables` returns
};
template <>
inline constexpr auto kFields<VariableDigests> =
    std::tuple(field(1, "step", &VariableDigests::step), field(2, "values", &VariableDigests::values));

/// Those of a session. Reads each of these variables once.
[[nodiscard]] TRAINHOOK_DECL VariableDigests digests_of(SessionRef session, std::int64_t step);

/// @param session rank 0's, for the names
/// @param of_ranks the digests of all ranks; those of another step than rank 0's are not compared
/// @throws FailedPreconditionError if the variables of a rank differ from those of rank 0.
TRAINHOOK_DECL void expect_equal_variables(SessionRef session, std::span<const VariableDigests> of_ranks);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/equal_variables.ipp>
#endif
