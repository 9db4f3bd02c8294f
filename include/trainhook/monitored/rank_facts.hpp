// SPDX-License-Identifier: Apache-2.0
/// @file
/// Facts: what the ranks of a job must have in common, which they compare at the start.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/hooked_session.hpp>

namespace trainhook {

class Graph;
struct MonitoredTrainingSessionOptions;

}  // namespace trainhook

namespace trainhook::detail {

/// What must be the same on all ranks, by its name.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// What two ranks with the same model and hooks have in common, for programs that are the same.
[[nodiscard]] TRAINHOOK_DECL Facts facts_about(const Graph& graph, const Hooks& hooks);

/// What they must have in common for their decisions by the step alone to be the same.
[[nodiscard]] TRAINHOOK_DECL Facts facts_about(const MonitoredTrainingSessionOptions& options);

/// @throws InvalidArgumentError for a hook that would save the input of this rank only.
TRAINHOOK_DECL void refuse_input_of_one_rank(const Hooks& hooks);

/// As bytes, and back.
[[nodiscard]] TRAINHOOK_DECL std::string fact_bytes(const Facts& facts);
[[nodiscard]] TRAINHOOK_DECL Facts facts_in(std::string_view bytes);

/// What differs between two ranks, for people; empty if nothing does.
[[nodiscard]] TRAINHOOK_DECL std::string fact_differences(const Facts& mine, const Facts& chiefs);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/rank_facts.ipp>
#endif
