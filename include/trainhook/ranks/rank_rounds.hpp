// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankRounds: how the ranks of a job talk to each other, although each of them may fail at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/ranks/collective.hpp>
#include <trainhook/ranks/rank_facts.hpp>

namespace trainhook::detail {

/// The error of a rank, on its way to the others.
struct RankFailure {
  ErrorCode code{};
  std::string message{};
};
template <>
inline constexpr auto kFields<RankFailure> =
    std::tuple(field(1, "code", &RankFailure::code), field(2, "message", &RankFailure::message));

/// A code that means the end of input or the loss of a session is replaced, because on the other ranks it is neither.
[[nodiscard]] TRAINHOOK_DECL RankFailure failure_of(const std::exception_ptr& error);

/// What a rank answers to an order of the chief.
struct RankAnswer {
  std::string bytes{};
  std::function<void()> then{};  ///< called when the chief has the answers of all ranks
};

/// One per rank. In each round all ranks reduce their votes, and exchange more only if none has failed. So a rank may
/// fail at any time: its vote takes part in the current round of the others, and all get its error. If a round takes
/// too long, the job is ended. All ranks must make the same calls, but for `collect` and `fail`.
/// @throws the error of the first rank that has failed, with its number.
class RankRounds {
 public:
  enum Bit : std::uint64_t {
    kNothing = 0,
    kStop = 1,
    kSave = 2,
    kFailed = 4,
    kCollect = 8,
    kAwaits = 16,
    kWrites = 32,
    kVeto = 64,
    kHeedsVeto = 128,
    kEnds = 256  // with kStop: the reason is not an interruption
  };
  enum Number : std::size_t {
    kFirstFailed,
    kFirstToStop,
    kBoundary,
    kNextSave,
    kFirstToVeto,
    kDigest = kNextSave  // of what ranks compare at the start, when no save is near
  };

  /// @param max_wait how long a rank waits for the others
  TRAINHOOK_DECL RankRounds(std::shared_ptr<Collective> ranks, Duration max_wait);
  RankRounds(const RankRounds&) = delete;
  RankRounds& operator=(const RankRounds&) = delete;
  TRAINHOOK_DECL ~RankRounds();

  [[nodiscard]] int rank() const noexcept { return ranks_->rank(); }
  [[nodiscard]] int size() const noexcept { return ranks_->size(); }
  [[nodiscard]] bool is_chief() const noexcept { return rank() == 0; }

  /// Returns if no rank has failed.
  void settle() { exchange(vote(kNothing)); }

  /// The bytes of rank 0, on every rank.
  [[nodiscard]] TRAINHOOK_DECL std::string from_chief(std::string bytes);

  /// The bytes of all ranks on rank 0, and nothing on the others.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> to_chief(const std::string& bytes);

  /// What rank 0 answers to what all ranks say, on every rank; all throw what `answer` throws.
  TRAINHOOK_DECL std::string answer_of_chief(const std::string& said,
                                             FunctionRef<std::string(const std::vector<std::string>& of_ranks)> answer);

  /// @throws InvalidArgumentError, on every rank, for facts that differ.
  TRAINHOOK_DECL void expect_same(const Facts& facts);

  /// Calls `give` on every rank and returns on each what it returned on rank 0.
  [[nodiscard]] TRAINHOOK_DECL std::string same_for_all(FunctionRef<std::string()> give);

  /// Sets what answers the chief's orders, in any round. If it throws, all ranks get its error.
  void serve(std::function<RankAnswer(const std::string& order)> answer) { answer_ = std::move(answer); }

  /// For the chief: the answers of all ranks to the order. All ranks must be at the same step boundary and call `meet`
  /// there.
  /// @param veto gets the reason if a rank vetoes the save in `meet`, and then there are no answers; null: none can
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> collect(const std::string& order,
                                                                std::optional<std::string>* veto = nullptr);

  /// All ranks call it at a step boundary at which the chief may collect; the chief after it has collected. Returns
  /// the chief's `next_save`.
  /// @param next_save from the chief: the next step at which it may save because of the step alone
  /// @param veto from another rank: why the model must not be saved at this boundary
  TRAINHOOK_DECL std::int64_t meet(std::int64_t next_save, const std::optional<std::string>& veto);

  /// The rounds of the loop: `begin` does not wait, `outstanding` waits for what all have said, `exchange` does both.
  /// The vote of this rank can say why it has a veto.
  [[nodiscard]] TRAINHOOK_DECL Votes vote(std::uint64_t bits) const;
  [[nodiscard]] TRAINHOOK_DECL Votes vote_with(const std::optional<std::string>& veto, std::uint64_t bits);
  TRAINHOOK_DECL void begin(const Votes& votes);
  [[nodiscard]] bool is_outstanding() const noexcept { return is_under_way_ || held_; }
  [[nodiscard]] TRAINHOOK_DECL Votes outstanding();
  TRAINHOOK_DECL Votes exchange(const Votes& votes);

  /// Why the loop stops: if this rank votes for it, and, once all have agreed, the reason of the first rank that did.
  void set_stop_reason(std::string reason) { reason_ = std::move(reason); }
  [[nodiscard]] const std::string& stop_reason() const noexcept { return reason_; }
  [[nodiscard]] bool has_agreed_to_stop() const noexcept { return has_agreed_to_stop_; }
  [[nodiscard]] bool is_interrupted() const noexcept { return is_interrupted_; }  ///< that is the reason of all

  /// Tells the others the error, unless the rounds are over.
  TRAINHOOK_DECL void fail(const std::exception_ptr& error, Duration max_wait) noexcept;

  /// Whether the last round was made, or all ranks know an error.
  [[nodiscard]] bool are_over() const noexcept { return are_over_; }
  void end() noexcept { are_over_ = true; }

 private:
  // Throws the error of a failed rank, and distributes the reason of the first rank that wants to stop. If the chief
  // collects in the round, the others answer, or learn why a rank vetoes the save, and then repeat the round, unless
  // all stop after it.
  TRAINHOOK_DECL Votes finish(Duration max_wait);
  TRAINHOOK_DECL void take(const Votes& all, Duration max_wait);
  TRAINHOOK_DECL void give(Duration max_wait);
  TRAINHOOK_DECL std::string given_by_all(Votes& all, Duration max_wait, FunctionRef<std::string()> give);
  TRAINHOOK_DECL void finish_early();

  // Calls `talk`; if it fails, ends the job, because the ranks can no longer communicate.
  template <class Talk>
  auto talking(Talk talk);

  std::shared_ptr<Collective> ranks_;
  Duration max_wait_;
  bool is_under_way_ = false;  // a round was started
  Votes votes_;                // of this rank in the current round
  std::optional<Votes> held_;  // the result of a round that was finished before its decision is due
  std::function<RankAnswer(const std::string& order)> answer_;
  std::string order_;                // the chief's order, while it collects
  std::vector<std::string> given_;   // for the chief
  std::string objection_;            // this rank's veto of a save, in the current round
  std::optional<std::string> veto_;  // another rank's veto, for the chief
  std::string reason_;
  bool has_agreed_to_stop_ = false;
  bool is_interrupted_ = false;
  std::optional<RankFailure> failure_;  // of this rank
  int first_failed_ = -1;               // the rank whose error all ranks have
  bool are_over_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_rounds.ipp>
#endif
