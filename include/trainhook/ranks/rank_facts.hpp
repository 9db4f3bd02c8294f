// SPDX-License-Identifier: Apache-2.0
/// @file
/// Facts: the properties that must be equal on all ranks of a job; they compare them at the start.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/live_session.hpp>
#include <trainhook/monitored/session_hooks.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook {

class Graph;
class SessionRunHook;
struct MonitoredTrainingSessionOptions;

}  // namespace trainhook

namespace trainhook::detail {

/// Properties that must be equal on all ranks, by name.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// The properties of model and hooks.
[[nodiscard]] TRAINHOOK_DECL Facts facts_about(const Graph& graph, const Hooks& hooks);

/// Whether a StopAtStepHook has requested a stop. It does so on all ranks, since all have the same, so the loop ends
/// even if they do not agree at every step.
[[nodiscard]] TRAINHOOK_DECL bool stops_by_the_step(const LiveSession& session) noexcept;

/// @throws InvalidArgumentError for options that a rank of a job cannot have.
TRAINHOOK_DECL void expect_options_of_job(const MonitoredTrainingSessionOptions& options);

/// The options on which decisions by the step alone depend, and what a restore does.
[[nodiscard]] TRAINHOOK_DECL Facts facts_about(const MonitoredTrainingSessionOptions& options);

/// The files and directories that the hooks write, with the hooks' types.
[[nodiscard]] TRAINHOOK_DECL Facts outputs_of(const Hooks& hooks);

/// Describes the outputs that several ranks write, for messages; empty if there are none.
/// @param outputs of all ranks
[[nodiscard]] TRAINHOOK_DECL std::string shared_outputs(const std::vector<Facts>& outputs);

/// This rank's parts of tensors that the ranks share: the tensor's name, and what it is with the part's region.
[[nodiscard]] TRAINHOOK_DECL Facts parts_of(const Graph& graph);

/// The names of the tensors of which any rank has a part, sorted.
/// @param of_ranks the parts of all ranks
/// @throws InvalidArgumentError for a tensor that is not the same on all ranks, or whose parts overlap.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> tensors_in_parts(const std::vector<Facts>& of_ranks);

/// The names of the EvaluationHooks of a rank, and when they are due.
[[nodiscard]] TRAINHOOK_DECL Facts evaluations_of(const Hooks& hooks);

/// The names of the EvaluationHooks that all ranks have, sorted.
/// @param of_ranks the evaluations of all ranks
/// @throws InvalidArgumentError for an evaluation that is neither on all ranks nor on rank 0 alone, or whose time one
/// rank cannot tell from the step.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> evaluations_of_all(const std::vector<Facts>& of_ranks);

/// Those of this rank's EvaluationHooks that no other rank has. @param of_all the names of those of all ranks, sorted
[[nodiscard]] TRAINHOOK_DECL std::vector<const SessionRunHook*> evaluations_of_one_rank(
    const Hooks& hooks, const std::vector<std::string>& of_all);

/// What rank 0 makes of what the ranks tell it at the start.
struct StartAnswer {
  std::vector<std::string> tensors_in_parts{};
  std::vector<std::string> evaluations_of_all{};
};
template <>
inline constexpr auto kFields<StartAnswer> =
    std::tuple(field(1, "tensors_in_parts", &StartAnswer::tensors_in_parts),
               field(2, "evaluations_of_all", &StartAnswer::evaluations_of_all));

/// What this rank tells rank 0: its parts, outputs and evaluations, as bytes.
[[nodiscard]] TRAINHOOK_DECL std::string start_report(const Graph& graph, const Hooks& hooks);

/// @throws InvalidArgumentError if the ranks do not fit together.
[[nodiscard]] TRAINHOOK_DECL StartAnswer answer_to(const std::vector<std::string>& reports);

/// Converts facts to bytes and back.
[[nodiscard]] TRAINHOOK_DECL std::string fact_bytes(const Facts& facts);
[[nodiscard]] TRAINHOOK_DECL Facts facts_in(std::string_view bytes);

/// Describes the differences of two ranks, for messages; empty if there are none.
[[nodiscard]] TRAINHOOK_DECL std::string fact_differences(const Facts& mine, const Facts& chiefs);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_facts.ipp>
#endif
