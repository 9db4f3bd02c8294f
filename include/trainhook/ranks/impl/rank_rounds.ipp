// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_rounds.hpp>

#include <fmt/format.h>

#include <trainhook/core/log.hpp>
#include <trainhook/io/crc32c.hpp>

namespace trainhook::detail {

RankFailure failure_of(const std::exception_ptr& error) {
  RankFailure failure{.code = ErrorCode::Unknown, .message = "an exception that the library did not see"};
  if (error == nullptr) return failure;
  failure.message = describe(error);
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    failure = {.code = known.code(), .message = known.what()};
  } catch (...) {  // of another family
  }
  if (failure.code == ErrorCode::OutOfRange || failure.code == ErrorCode::Aborted ||
      failure.code == ErrorCode::Unavailable)
    failure.code = ErrorCode::FailedPrecondition;
  return failure;
}

RankRounds::RankRounds(std::shared_ptr<Collective> ranks, Duration max_wait)
    : ranks_(std::move(ranks)), max_wait_(max_wait) {}

RankRounds::~RankRounds() = default;

template <class Talk>
auto RankRounds::talking(Talk talk) {
  try {
    return talk();
  } catch (...) {
    are_over_ = true;
    is_under_way_ = false;
    std::string why = describe(std::current_exception());
    if (failure_) {
      why += fmt::format(". Its own error was: {}", failure_->message);
    } else if (!reason_.empty() && !has_agreed_to_stop_) {
      why += fmt::format(". It has asked the others to stop: {}", reason_);
    }
    ranks_->end_job(why);
    throw;
  }
}

Votes RankRounds::vote(std::uint64_t bits) const {
  Votes votes{.any = bits};
  const auto say = [&](Number which) { votes.least[which] = votes.greatest[which] = rank(); };
  if ((bits & kFailed) != 0) say(kFirstFailed);
  if ((bits & kStop) != 0) say(kFirstToStop);
  if ((bits & kVeto) != 0) say(kFirstToVeto);
  return votes;
}

Votes RankRounds::vote_with(const std::optional<std::string>& veto, std::uint64_t bits) {
  objection_ = veto.value_or("");
  return vote(veto ? bits | kVeto : bits);
}

void RankRounds::begin(const Votes& votes) {
  votes_ = votes;
  talking([&] { ranks_->begin(votes); });
  is_under_way_ = true;
}

Votes RankRounds::finish(Duration max_wait) {
  for (;;) {
    const Votes all = talking([&] { return ranks_->finish(max_wait); });
    is_under_way_ = false;
    take(all, max_wait);
    if ((all.any & kCollect) == 0) return all;
    const Votes mine = votes_;
    if ((all.any & (kVeto | kHeedsVeto)) == (kVeto | kHeedsVeto)) {
      const int first = static_cast<int>(all.least[kFirstToVeto]);
      veto_ = talking([&] { return ranks_->broadcast(objection_, first, max_wait); });
      veto_ = fmt::format("rank {}: {}", first, *veto_);
    } else {
      give(max_wait);
    }
    if (((mine.any & kCollect) | (all.any & kStop)) != 0) return all;
    begin(mine);
  }
}

void RankRounds::take(const Votes& all, Duration max_wait) {
  if ((all.any & kFailed) != 0) {
    are_over_ = true;
    first_failed_ = static_cast<int>(all.least[kFirstFailed]);
    const std::string mine = failure_ ? message_bytes(*failure_) : std::string();
    const std::string bytes = talking([&] { return ranks_->broadcast(mine, first_failed_, max_wait); });
    const auto failure = parse_message<RankFailure>(bytes, "the failure of a rank");
    throw_error(failure.code, fmt::format("rank {} has failed: {}", first_failed_, failure.message));
  }
  if (all.least[kBoundary] < all.greatest[kBoundary]) {
    are_over_ = true;
    throw FailedPreconditionError(
        "the loops of the ranks differ: one has asked should_stop() {} times between steps, another one {} times",
        all.least[kBoundary], all.greatest[kBoundary]);
  }
  if ((all.any & kStop) == 0) return;
  const int first = static_cast<int>(all.least[kFirstToStop]);
  reason_ = talking([&] { return ranks_->broadcast(reason_, first, max_wait); });
  if (size() > 1) reason_ = fmt::format("rank {}: {}", first, reason_);
  has_agreed_to_stop_ = true;
  is_interrupted_ = (all.any & kEnds) == 0;
}

// What this rank gives, after a round in which all hear of a rank that cannot, before any bytes are sent.
std::string RankRounds::given_by_all(Votes& all, Duration max_wait, FunctionRef<std::string()> give) {
  std::string mine;
  std::exception_ptr own;
  try {
    mine = give();
  } catch (...) {
    own = std::current_exception();
    failure_ = failure_of(own);
  }
  begin(vote(own != nullptr ? kFailed : kNothing));
  try {
    all = finish(max_wait);
  } catch (...) {
    if (own != nullptr && first_failed_ == rank()) std::rethrow_exception(own);
    throw;
  }
  return mine;
}

void RankRounds::give(Duration max_wait) {
  const std::string order = talking([&] { return ranks_->broadcast(order_, 0, max_wait); });
  Votes all;
  RankAnswer answer;
  const std::string mine = given_by_all(all, max_wait, [&] {
    if (answer_) answer = answer_(order);
    return answer.bytes;
  });
  given_ = talking([&] { return ranks_->gather(mine, 0, max_wait); });
  if (answer.then) answer.then();
}

void RankRounds::finish_early() {
  if (is_under_way_) held_ = finish(max_wait_);
}

std::vector<std::string> RankRounds::collect(const std::string& order, std::optional<std::string>* veto) {
  if (are_over_) throw FailedPreconditionError("the ranks of the job have ended by an error: nothing more is saved");
  finish_early();
  order_ = order;
  veto_.reset();
  exchange(vote(veto != nullptr ? kCollect | kHeedsVeto : kCollect));
  if (veto != nullptr) *veto = veto_;
  return std::exchange(given_, {});
}

std::int64_t RankRounds::meet(std::int64_t next_save, const std::optional<std::string>& veto) {
  if (are_over_) return next_save;
  finish_early();
  Votes votes = vote_with(veto, kNothing);
  if (is_chief()) votes.least[kNextSave] = next_save;
  return exchange(votes).least[kNextSave];
}

Votes RankRounds::outstanding() {
  if (!held_) return finish(max_wait_);
  const Votes held = *held_;
  held_.reset();
  return held;
}

Votes RankRounds::exchange(const Votes& votes) {
  begin(votes);
  return finish(max_wait_);
}

std::string RankRounds::from_chief(std::string bytes) {
  settle();
  return talking([&] { return ranks_->broadcast(std::move(bytes), 0, max_wait_); });
}

std::vector<std::string> RankRounds::to_chief(const std::string& bytes) {
  settle();
  return talking([&] { return ranks_->gather(bytes, 0, max_wait_); });
}

struct ChiefsAnswer {
  std::string bytes{};
  RankFailure refusal{};  // no message: none
};
template <>
inline constexpr auto kFields<ChiefsAnswer> =
    std::tuple(field(1, "bytes", &ChiefsAnswer::bytes), field(2, "refusal", &ChiefsAnswer::refusal));

std::string RankRounds::answer_of_chief(const std::string& said,
                                        FunctionRef<std::string(const std::vector<std::string>& of_ranks)> answer_to) {
  const std::vector<std::string> of_ranks = talking([&] { return ranks_->gather(said, 0, max_wait_); });
  ChiefsAnswer answer;
  try {
    if (is_chief()) answer.bytes = answer_to(of_ranks);
  } catch (...) { answer.refusal = failure_of(std::current_exception()); }
  const std::string bytes = talking([&] { return ranks_->broadcast(message_bytes(answer), 0, max_wait_); });
  answer = parse_message<ChiefsAnswer>(bytes, "what rank 0 says of the ranks");
  if (answer.refusal.message.empty()) return std::move(answer.bytes);
  are_over_ = true;
  throw_error(answer.refusal.code, answer.refusal.message);
}

void RankRounds::expect_same(const Facts& facts) {
  const std::string own = fact_bytes(facts);
  Votes votes = vote(kNothing);
  votes.least[kDigest] = votes.greatest[kDigest] = crc32c::value(own);
  const Votes all = exchange(votes);
  if (all.least[kDigest] == all.greatest[kDigest]) return;
  answer_of_chief(own, [](const std::vector<std::string>& of_ranks) -> std::string {
    std::string text;
    for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
      const std::string different = fact_differences(facts_in(of_ranks[rank]), facts_in(of_ranks.front()));
      if (!different.empty()) text += fmt::format("; on rank {} {}", rank, different);
    }
    throw InvalidArgumentError("the ranks of the job must be alike. Compared with rank 0{}", text.substr(1));
  });
}

std::string RankRounds::same_for_all(FunctionRef<std::string()> give) {
  if (are_over_) throw FailedPreconditionError("the ranks of the job have ended by an error: they share nothing more");
  finish_early();
  Votes all;
  std::string mine = given_by_all(all, max_wait_, give);
  if ((all.any & kStop) != 0) return mine;  // the rank that has asked to stop is not here
  return talking([&] { return ranks_->broadcast(std::move(mine), 0, max_wait_); });
}

void RankRounds::fail(const std::exception_ptr& error, Duration max_wait) noexcept {
  if (are_over_) return;
  try {
    failure_ = failure_of(error);
    log_error("rank {} has failed, and tells the other ranks: {}", rank(), failure_->message);
    if (is_under_way_) static_cast<void>(finish(max_wait));
    begin(vote(kFailed));
    static_cast<void>(finish(max_wait));
  } catch (...) {  // its own error again, or another one
    if (first_failed_ != rank())
      log_error("rank {} has failed, and its error is not the first: {}", rank(), describe(std::current_exception()));
  }
  are_over_ = true;
}

}  // namespace trainhook::detail
