// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_states_hook.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/input_checkpoints.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/monitored/session_hooks.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/ranks/equal_variables.hpp>
#include <trainhook/ranks/rank_state.hpp>

namespace trainhook::detail {

enum class RankOrder : std::uint8_t {
  States = 1,  // say what this rank has of its own, and the digests of its variables
  Question,    // the digests alone
  Write,       // write a part of a checkpoint
  Parts,       // hand over such parts
};

// What the chief asks the ranks for, with the message of the save or the parts.
struct RankOrderMessage {
  RankOrder order{};
  std::string subject{};
};
template <>
inline constexpr auto kFields<RankOrderMessage> =
    std::tuple(field(1, "order", &RankOrderMessage::order), field(2, "subject", &RankOrderMessage::subject));

inline std::string order_bytes(RankOrder order, std::string subject = {}) {
  return message_bytes(RankOrderMessage{.order = order, .subject = std::move(subject)});
}

// The reply to the first two.
struct RankReplyMessage {
  VariableDigests variables{};
  std::string state{};
  std::string input{};  // of the files of a CheckpointInputPipelineHook
  bool is_at_end_of_input = false;
};
template <>
inline constexpr auto kFields<RankReplyMessage> = std::tuple(
    field(1, "variables", &RankReplyMessage::variables), field(2, "state", &RankReplyMessage::state),
    field(3, "input", &RankReplyMessage::input), field(4, "is_at_end_of_input", &RankReplyMessage::is_at_end_of_input));

RankStatesHook::RankStatesHook(RankRounds& rounds)
    : rounds_(rounds), tensors_(make_shared_object<TensorsOfOthers>()), shards_(rounds.rank()) {
  rounds.serve([this](const std::string& order) { return answer_to(order); });
}

RankStatesHook::~RankStatesHook() = default;

void RankStatesHook::set_tensors_in_parts(std::vector<std::string> names) { tensors_->names = std::move(names); }

void RankStatesHook::add_to(Votes& votes) const {
  if (shards_.are_awaited()) votes.any |= RankRounds::kAwaits;
  if (shards_.is_writing()) votes.any |= RankRounds::kWrites;
  if (rounds_.is_chief()) votes.least[RankRounds::kNextSave] = chiefs_next_save_;
}

void RankStatesHook::follow(const Votes& all) noexcept {
  is_save_granted_ |= (all.any & RankRounds::kSave) != 0;
  are_parts_written_ |= (all.any & (RankRounds::kAwaits | RankRounds::kWrites)) == RankRounds::kAwaits;
  next_save_ = all.least[RankRounds::kNextSave];
}

void RankStatesHook::begin(Graph& graph) {
  has_global_step_ = get_global_step(graph).has_value();
  if (rounds_.size() == 1) return;
  graph.offer(tensors_);
  if (!rounds_.is_chief()) return;
  const std::shared_ptr<CheckpointPart> part(std::shared_ptr<void>(), this);  // a session's hooks outlive its claims
  for (const auto& saver : graph.offered<CheckpointClaim>()) saver->parts.push_back(part);
}

RankAnswer RankStatesHook::answer_to(const std::string& order) {
  const auto asked = parse_message<RankOrderMessage>(order, "the chief's order");
  if (!session_.has_value()) return {};
  if (asked.order == RankOrder::Parts) return {.bytes = shards_.give(asked.subject)};
  if (asked.order == RankOrder::Write) {
    return {.bytes = fmt::format("{}", own_step()), .then = [this, save = sharded_save_in(asked.subject)] {
              shards_.begin(save, session_, services().file_system());
            }};
  }
  RankReplyMessage reply{.variables = digests_of(session_, own_step()), .is_at_end_of_input = is_at_end_of_input_};
  if (asked.order == RankOrder::States) reply.state = rank_state_bytes(state_of_rank(session_));
  if (const auto files = session_.graph().offered<InputCheckpoints>(); !files.empty() && !rounds_.is_chief())
    reply.input = rank_state_bytes(
        {{.entries = files.front()->give(session_, reply.variables.step, services().restored_from())}});
  return {.bytes = message_bytes(reply)};
}

std::int64_t RankStatesHook::own_step() const {
  const std::optional<Variable> step = get_global_step(session_.graph());
  if (!step) return 0;
  const std::string name = step->name();
  return session_.snapshot(std::span(&name, 1)).at(0).tensor.scalar<std::int64_t>();
}

std::vector<std::string> RankStatesHook::ask_all(const std::string& order, std::optional<std::string>* veto) {
  try {
    return rounds_.collect(order, veto);
  } catch (...) {
    failure_ = std::current_exception();
    shards_.cancel(failure_);
    throw;
  }
}

bool RankStatesHook::meet_at(FunctionRef<std::int64_t()> step) const {
  return !rounds_.are_over() &&
         (is_save_granted_ || are_parts_written_ || (next_save_ != Peers::kNoStep && step() >= next_save_));
}

bool RankStatesHook::ranks_meet_at(std::int64_t step) const {
  return depth_ == 0 || (depth_ == 1 && meet_at([step] { return step; }));
}

inline bool saves_all(const SaverOptions& saver) {
  return saver.var_list.empty() && saver.with_saveables &&
         std::ranges::find(saver.kinds, StateKind::Auxiliary) != saver.kinds.end();
}

bool RankStatesHook::can_collect(std::int64_t step) const {
  return depth_ == 0 || meet_at([step] { return step; });
}

std::optional<std::string> RankStatesHook::veto(SaveMoment& moment) {
  const std::int64_t step = moment.step;
  taken_.clear();
  if (!ranks_meet_at(step)) {
    const std::vector<std::string> tensors = moment.saver->tensors_of_others(moment.session.graph());
    if (!tensors.empty())
      return fmt::format("the other ranks, which have parts of '{}', are not at the end of step {}", tensors[0], step);
  }
  if (can_collect(step)) {
    if (!veto_) ask_for_veto(moment);
    if (*veto_) return *veto_;
    moment.inputs = inputs_;
  }
  if (std::vector<NamedTensor> entries = collect(moment); !entries.empty())
    taken_.push_back(make_shared_object<ExtraEntries>(std::move(entries)));
  if (auto parts = write_parts(moment)) taken_.push_back(std::move(parts));
  return std::nullopt;
}

void RankStatesHook::ask_for_veto(const SaveMoment& moment) {
  session_ = moment.session;
  const bool with_states = saves_all(moment.saver->options());
  const std::string order = order_bytes(with_states ? RankOrder::States : RankOrder::Question);
  std::optional<std::string> reason;
  const std::vector<std::string> given = ask_all(order, &reason);
  if (!reason) keep(given, with_states);
  veto_ = std::move(reason);
}

void RankStatesHook::take(const SaveMoment& /*moment*/, TakenParts& taken) {
  std::ranges::move(std::exchange(taken_, {}), std::back_inserter(taken));
}

std::vector<NamedTensor> RankStatesHook::collect(const SaveMoment& moment) {
  if (!saves_all(moment.saver->options())) return {};
  if (collected_) return *collected_;
  if (!can_collect(moment.step)) {
    log_warning(
        "the checkpoint of step {} lacks what ranks other than the chief have of their own: they do not know of it",
        moment.step);
    return {};
  }
  session_ = moment.session;
  keep(ask_all(order_bytes(RankOrder::States)), true);
  return *collected_;
}

// A rank may have left its loop before the others, or after them. What it has at the end of its input is final.
inline void expect_same_step(const RankReplyMessage& reply, std::int64_t its_step, std::int64_t step, int rank,
                             std::string_view own) {
  if (its_step == step || (reply.is_at_end_of_input && its_step < step)) return;
  throw FailedPreconditionError(
      "step {} is not saved: rank {} has ended at step {}, and so has '{}', which it has of its own; let all ranks "
      "leave their loops when should_stop() says so, and stop them by a hook or request_stop()",
      step, rank, its_step, own);
}

void RankStatesHook::keep(const std::vector<std::string>& given, bool has_states) {
  std::vector<RankReplyMessage> replies;
  std::vector<VariableDigests> digests;
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    replies.push_back(parse_message<RankReplyMessage>(given[rank], fmt::format("the reply of rank {}", rank)));
    digests.push_back(std::move(replies.back().variables));
  }
  expect_equal_variables(session_, digests);
  inputs_.clear();
  for (int rank = 1; rank < rounds_.size(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const std::string& input = replies.at(place).input;
    if (input.empty()) continue;
    expect_same_step(replies[place], digests[place].step, digests[0].step, rank, "input");
    inputs_.push_back(std::move(rank_state_in(input, rank).at(0).entries));
  }
  if (!has_states) return;
  const RankState chiefs = rank_state_in(replies.at(0).state, 0);
  std::vector<NamedTensor> entries;
  for (int rank = 1; rank < rounds_.size(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const RankState state = rank_state_in(replies.at(place).state, rank);
    std::vector<NamedTensor> own = own_entries(rank, state, chiefs, HookStates::kName);
    if (!own.empty()) {
      expect_same_step(replies[place], digests[place].step, digests[0].step, rank,
                       std::string_view(own[0].name).substr(rank_prefix(rank).size()));
    }
    std::ranges::move(own, std::back_inserter(entries));
  }
  if (rounds_.size() > 1) entries.push_back({std::string(kNumRanks), Tensor(std::int64_t{rounds_.size()})});
  collected_ = std::move(entries);
}

void RankStatesHook::forget_answers() noexcept {
  collected_.reset();
  inputs_.clear();
  taken_.clear();
  veto_.reset();
}

std::shared_ptr<PartsOfOthers> RankStatesHook::write_parts(const SaveMoment& moment) {
  const SessionRef session = moment.session;
  const Saver& saver = *moment.saver;
  const std::int64_t step = moment.step;
  const auto size = static_cast<std::size_t>(rounds_.size());
  const std::vector<std::string> tensors = saver.tensors_of_others(session.graph());
  const auto writes_all = [&](std::string_view why) {
    if (!tensors.empty())
      throw FailedPreconditionError("step {} is not saved: {}, and other ranks have parts of '{}'", step, why,
                                    tensors[0]);
    return nullptr;
  };
  if (!saver.options().sharded && tensors.empty()) return nullptr;
  if (!ranks_meet_at(step)) return writes_all("the ranks are not at the same step");
  if (&saver.file_system() != &services().file_system()) return writes_all("the saver has a `file_system` of its own");
  std::vector<std::vector<std::string>> names(tensors.empty() ? 1 : size);
  if (saver.options().sharded) names = divide_by_bytes(saver.chosen_state(session), session.graph(), rounds_.size());
  if (!tensors.empty()) names.resize(size);
  ShardedSave save{.prefix = moment.prefix,
                   .suffix = bundle_temporary_suffix(),
                   .names = std::move(names),
                   .tensors = tensors,
                   .refuse_non_finite = saver.options().refuse_non_finite,
                   .later = !moment.loop_waits};
  if (save.num_parts() == 1) return nullptr;
  session_ = session;
  const auto parts = std::make_shared<PartsOfOthers>(std::move(save), saver.file_system());
  if (moment.loop_waits) parts->fetch_by([this] { fetch_parts(); });
  shards_.await_parts(parts);
  const std::vector<std::string> steps = ask_all(order_bytes(RankOrder::Write, sharded_save_bytes(parts->save())));
  const auto other = std::ranges::find_if(steps, [&](const std::string& text) { return text != steps.front(); });
  if (other == steps.end()) return parts;
  const std::string why = fmt::format("rank {} has ended at step {}", other - steps.begin(), *other);
  if (tensors.empty()) log_warning("rank 0 writes all of the checkpoint of step {}, because {}", step, why);
  return writes_all(why);  // the parts are dropped
}

bool RankStatesHook::complete(std::optional<std::int64_t> step) {
  if (step && !ranks_meet_at(*step)) return false;
  fetch_parts();
  return true;
}

void RankStatesHook::fetch_parts() {
  if (shards_.are_awaited()) shards_.take(ask_all(order_bytes(RankOrder::Parts, shards_.order())));
}

// A save may have been allowed to fail by the error of a rank, by which all end.
void RankStatesHook::meet(std::int64_t next_save) {
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  next_save_ = rounds_.meet(next_save, rounds_.is_chief() ? std::nullopt : services().save_veto());
  is_save_granted_ = are_parts_written_ = false;
  forget_answers();
}

void RankStatesHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  session_ = session;
  session_.draw_share(rounds_.rank(), rounds_.size());
  meet(Peers::kAnyStep);
}

SessionRunArgs RankStatesHook::before_run(SessionRunContext& /*context*/) {
  ++depth_;
  return {};
}

void RankStatesHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  depth_ = (std::max)(depth_ - 1, 0);
  if (depth_ > 0) return;
  forget_answers();
  chiefs_next_save_ = std::exchange(expected_save_, Peers::kNoStep);
  const auto step = [&] { return has_global_step_ ? context.global_step() : Peers::kNoStep; };
  if (failure_ != nullptr || (!rounds_.has_agreed_to_stop() && meet_at(step))) {
    if (rounds_.is_chief() && are_parts_written_) fetch_parts();
    meet(chiefs_next_save_);
  }
  if (rounds_.has_agreed_to_stop()) context.request_stop(rounds_.stop_reason());
}

void RankStatesHook::on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) {
  depth_ = (std::max)(depth_ - 1, 0);
  if (depth_ == 0) forget_answers();
}

void RankStatesHook::end(SessionRef session) {
  session_ = session;
  if (rounds_.is_chief() && failure_ == nullptr) fetch_parts();  // of saves that have failed
  meet(Peers::kNoStep);
}

void RankStatesHook::abort(const std::exception_ptr& /*error*/) noexcept {
  shards_.cancel(std::make_exception_ptr(CancelledError("the session has ended by an error")));
}

}  // namespace trainhook::detail
