// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankState: what a rank of a job has of its own, and how a checkpoint of the whole job holds it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// One piece of a session's state, or what one saveable of the graph gives. Entries are named as in the checkpoint.
struct StatePart {
  std::string name{};
  std::vector<NamedTensor> entries{};
};

/// All that a checkpoint holds besides the variables: generators, what saveables give, and the positions of the input
/// that a saveable asks for.
using RankState = std::vector<StatePart>;

/// That of a session, as of now.
[[nodiscard]] TRAINHOOK_DECL RankState state_of_rank(SessionRef session);

/// The same as bytes, and back. @throws DataLossError, naming the rank, for bytes that are not such a state.
[[nodiscard]] TRAINHOOK_DECL std::string rank_state_bytes(const RankState& state);
[[nodiscard]] TRAINHOOK_DECL RankState rank_state_in(std::string_view bytes, int rank);

/// What the names in a checkpoint begin with for the state of a rank: `_trainhook/ranks/<rank>/`. The rest is the name
/// that the chief's state has.
[[nodiscard]] TRAINHOOK_DECL std::string rank_prefix(int rank);

/// The entries that a checkpoint needs for `rank`: the parts that differ from the chief's, each as a whole.
/// @param hooks the name of the part of all hooks. Of that one only hooks that the rank has are compared, because the
/// chief has more of them.
[[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> own_entries(int rank, const RankState& state,
                                                                  const RankState& chiefs, std::string_view hooks);

/// The ranks from `size` on that a checkpoint with these names has a state of.
[[nodiscard]] TRAINHOOK_DECL std::vector<int> ranks_beyond(int size, const std::vector<std::string_view>& names);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/rank_state.ipp>
#endif
