// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankState: the state of one rank of a job, and its form in the job's checkpoint.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// One piece of a session's state, or the state of one saveable of the graph. Entries are named as in the checkpoint.
struct StatePart {
  std::string name{};
  std::vector<NamedTensor> entries{};
};

/// Everything in a checkpoint other than variables: generators, saveables, and input positions that a saveable asks
/// for.
using RankState = std::vector<StatePart>;

/// The current state of a session.
[[nodiscard]] TRAINHOOK_DECL RankState state_of_rank(SessionRef session);

/// What ranks may have of their own before anything is restored: generators, and input positions that a saveable asks
/// for.
[[nodiscard]] TRAINHOOK_DECL RankState start_of_rank(SessionRef session);

/// The names of the parts that the chief does not have, or has with another value.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> parts_that_differ(const RankState& state,
                                                                        const RankState& chiefs);

/// Converts a state to bytes and back. @throws DataLossError, naming the rank, for bytes that are not such a state.
[[nodiscard]] TRAINHOOK_DECL std::string rank_state_bytes(const RankState& state);
[[nodiscard]] TRAINHOOK_DECL RankState rank_state_in(std::string_view bytes, int rank);

/// The name of the number of ranks that wrote a checkpoint, an int64 scalar. Checkpoints of one process, and of
/// versions before it, lack it.
inline constexpr std::string_view kNumRanks = "_trainhook/num_ranks";

/// The prefix of the names of a rank's state in a checkpoint, `_trainhook/ranks/<rank>/`. The name of the chief's state
/// follows.
[[nodiscard]] TRAINHOOK_DECL std::string rank_prefix(int rank);

/// The entries that a checkpoint needs for `rank`: each whole part that differs from the chief's.
/// @param hooks the name of the part of all hooks. Only hooks that the rank has are compared in it, because the chief
/// has more hooks.
[[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> own_entries(int rank, const RankState& state,
                                                                  const RankState& chiefs, std::string_view hooks);

/// What a checkpoint with these names has of ranks other than the chief: the names without the ranks' prefixes.
[[nodiscard]] TRAINHOOK_DECL std::set<std::string, std::less<>> names_of_ranks(const std::vector<std::string>& names);

/// The ranks from `size` on whose state is in a checkpoint with these names.
[[nodiscard]] TRAINHOOK_DECL std::vector<int> ranks_beyond(int size, const std::vector<std::string>& names);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_state.ipp>
#endif
