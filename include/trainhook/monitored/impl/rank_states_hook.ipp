// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of rank_states_hook.hpp.
#pragma once

#include <trainhook/monitored/rank_states_hook.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include <trainhook/checkpoint/rank_state.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/monitored/hook_states.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL RankStatesHook::~RankStatesHook() = default;

TRAINHOOK_DECL void RankStatesHook::begin(Graph& graph) {
  has_global_step_ = get_global_step(graph).has_value();
  if (rounds_->rank() == 0) services().set_states_of_ranks(this);
}

TRAINHOOK_DECL std::string RankStatesHook::own_state() const {
  return session_.has_value() ? rank_state_bytes(state_of_rank(session_)) : std::string();
}

TRAINHOOK_DECL std::vector<NamedTensor> RankStatesHook::collect(SessionRef session, std::int64_t step) {
  if (rounds_->size() == 1) return {};
  if (collected_) return *collected_;
  if (depth_ > 0 && !rounds_->meets_at([step] { return step; })) {
    log_warning(
        "the checkpoint of step {} lacks what ranks other than the chief have of their own: they do not know of it",
        step);
    return {};
  }
  session_ = session;
  rounds_->give_state_by([this] { return own_state(); });
  const std::vector<std::string> all = rounds_->collect();
  const RankState chiefs = rank_state_in(all.at(0), 0);
  std::vector<NamedTensor> entries;
  for (int rank = 1; rank < rounds_->size(); ++rank) {
    const RankState state = rank_state_in(all.at(static_cast<std::size_t>(rank)), rank);
    std::vector<NamedTensor> own = own_entries(rank, state, chiefs, HookStates::kName);
    std::ranges::move(own, std::back_inserter(entries));
  }
  collected_ = std::move(entries);
  return *collected_;
}

TRAINHOOK_DECL void RankStatesHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  session_ = session;
  rounds_->give_state_by([this] { return own_state(); });
  rounds_->meet(HookServices::kAnyStep);
  collected_.reset();
}

TRAINHOOK_DECL SessionRunArgs RankStatesHook::before_run(SessionRunContext& /*context*/) {
  ++depth_;
  return {};
}

TRAINHOOK_DECL void RankStatesHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  depth_ = (std::max)(depth_ - 1, 0);
  if (depth_ > 0) return;
  collected_.reset();
  const std::int64_t next_save = services().take_expected_save();
  rounds_->expect_save(next_save);
  if (!rounds_->has_agreed_to_stop() &&
      rounds_->meets_at([&] { return has_global_step_ ? context.global_step() : HookServices::kNoStep; }))
    rounds_->meet(next_save);
  if (rounds_->has_agreed_to_stop()) context.request_stop(rounds_->stop_reason());
}

TRAINHOOK_DECL void RankStatesHook::on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) {
  depth_ = (std::max)(depth_ - 1, 0);
  if (depth_ == 0) collected_.reset();
}

TRAINHOOK_DECL void RankStatesHook::end(SessionRef session) {
  session_ = session;
  rounds_->meet(HookServices::kNoStep);
  collected_.reset();
}

}  // namespace trainhook::detail
