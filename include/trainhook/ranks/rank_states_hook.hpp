// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankStatesHook: adds the own state of each rank of a job to the chief's checkpoints.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/ranks/rank_shards.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::detail {

class PartsOfOthers;
struct TensorsOfOthers;

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

/// The requests of the chief that a rank serves in any round.
class StatesToGive {
 public:
  /// This rank's reply to the order. If it throws, all ranks get its error.
  [[nodiscard]] virtual std::string give(const std::string& order) = 0;

  /// Called when the chief has all replies.
  virtual void has_given(const std::string& order) = 0;

  /// `awaits_parts`: whether the ranks write a checkpoint together whose parts the chief does not have yet; the same on
  /// every rank. `is_writing`: whether this rank is still writing its part.
  [[nodiscard]] virtual bool awaits_parts() const noexcept = 0;
  [[nodiscard]] virtual bool is_writing() const = 0;

 protected:
  ~StatesToGive() = default;
};

/// The rounds for saves, which RankAgreement implements.
class SaveRounds {
 public:
  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;

  /// The names of the tensors of which ranks have parts, sorted.
  [[nodiscard]] virtual const std::vector<std::string>& tensors_in_parts() const noexcept = 0;

  /// From now on `states` serves the chief's requests; it must outlive the rounds.
  virtual void serve(StatesToGive& states) = 0;

  /// For the chief: the replies of all ranks to the order. All ranks must be at the same step boundary and call `meet`
  /// there.
  [[nodiscard]] virtual std::vector<std::string> collect(const std::string& order) = 0;

  /// The same, unless a rank vetoes the save in `meet`. Then there are no replies, and the result is the reason.
  [[nodiscard]] virtual std::optional<std::string> collect_unless_vetoed(const std::string& order,
                                                                         std::vector<std::string>& given) = 0;

  /// All ranks call it at a step boundary at which the chief may collect; the chief after it has collected.
  /// @param next_save from the chief: the next step at which it may save because of the step alone
  /// @param veto from another rank: why the model must not be saved at this boundary
  virtual void meet(std::int64_t next_save, const std::optional<std::string>& veto) = 0;

  /// Whether all ranks meet at the end of the step that `step` returns; calls it only if necessary.
  [[nodiscard]] virtual bool meets_at(FunctionRef<std::int64_t()> step) const = 0;

  /// Whether all ranks meet because all have written their parts of a checkpoint.
  [[nodiscard]] virtual bool are_parts_written() const noexcept = 0;

  /// The smallest step of Peers::expect_save since the last call; that of the chief is `next_save` of the next rounds.
  [[nodiscard]] virtual std::int64_t take_expected_save() noexcept = 0;

  /// Whether this rank has left its loop because its own input has ended: what it has of its own stays as it is.
  [[nodiscard]] virtual bool is_at_end_of_input() const noexcept = 0;

  [[nodiscard]] virtual bool has_agreed_to_stop() const noexcept = 0;
  [[nodiscard]] virtual const std::string& stop_reason() const noexcept = 0;

 protected:
  ~SaveRounds() = default;
};

/// The last hook of the phase `Save`, on every rank. The chief's savers come before it and collect state through it.
/// All ranks meet in it after the session's creation, at the end of each step after which the chief may save, and at
/// the end of the session. There the other ranks give their state, which is therefore of the same step, and write their
/// parts of a checkpoint. They also meet once all parts that are written in the background are complete. All of this
/// happens on the loop's thread.
class RankStatesHook final : public SessionRunHook, public StatesToGive, public CheckpointPart {
 public:
  explicit RankStatesHook(SaveRounds& rounds) : rounds_(&rounds), shards_(rounds.rank()) {}
  RankStatesHook(const RankStatesHook&) = delete;
  RankStatesHook& operator=(const RankStatesHook&) = delete;
  TRAINHOOK_DECL ~RankStatesHook() override;

  /// Why another rank vetoes the save, with its number; nothing if none does, or if the ranks do not meet at that step.
  /// The ranks send their state and inputs together with the answer. If the saver is sharded or ranks have parts of
  /// tensors, they are then asked to write their files of the current values; without such files the chief writes
  /// everything, because the saver has its own disk, the state is too small, the ranks are not at the same step, or the
  /// save is for a run inside a step.
  /// @throws FailedPreconditionError instead, if other ranks have parts of a tensor.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> veto(SaveMoment& moment) override;

  /// What `veto` got: it asks for everything, since a failure of a rank ends the job whatever a saver hook tolerates.
  TRAINHOOK_DECL void take(const SaveMoment& moment, TakenParts& taken) override;

  [[nodiscard]] bool is_incomplete() const noexcept override { return awaits_parts(); }

  /// Waits until all ranks have written their files.
  TRAINHOOK_DECL bool complete(std::optional<std::int64_t> step) override;

  [[nodiscard]] TRAINHOOK_DECL std::string give(const std::string& order) override;
  TRAINHOOK_DECL void has_given(const std::string& order) override;
  [[nodiscard]] bool awaits_parts() const noexcept override { return shards_.are_awaited(); }
  [[nodiscard]] bool is_writing() const override { return shards_.is_writing(); }

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Save; }
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::int64_t own_step() const;
  [[nodiscard]] TRAINHOOK_DECL bool can_collect(std::int64_t step) const;
  TRAINHOOK_DECL std::vector<std::string> ask_all(const std::string& order);
  TRAINHOOK_DECL void ask_for_veto(const SaveMoment& moment);
  template <class Ask>
  auto asking(Ask ask);
  // False at the end of a run inside a step function, which only this rank makes, so the others would not answer.
  [[nodiscard]] TRAINHOOK_DECL bool ranks_meet_at(std::int64_t step) const;
  // The current state that only the other ranks have, named as in the checkpoint; empty if the saver saves no such.
  [[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> collect(const SaveMoment& moment);
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<PartsOfOthers> write_parts(const SaveMoment& moment);
  TRAINHOOK_DECL void fetch_parts();
  TRAINHOOK_DECL void keep(const std::vector<std::string>& given, bool has_states);
  TRAINHOOK_DECL void forget_answers() noexcept;
  TRAINHOOK_DECL void meet(std::int64_t next_save);

  SaveRounds* rounds_;
  SessionRef session_;
  std::shared_ptr<TensorsOfOthers> tensors_;
  RankShards shards_;
  std::exception_ptr failure_;  // of a rank, during a save whose failure may be tolerated
  bool has_global_step_ = false;
  // For further savers at this step boundary: the collected state, and whether the other ranks can still veto.
  std::optional<std::vector<NamedTensor>> collected_;
  std::vector<std::vector<NamedTensor>> inputs_;
  TakenParts taken_;  // of the save that begins
  std::optional<std::optional<std::string>> veto_;
  int depth_ = 0;  // of nested runs, which may be this rank's alone
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_states_hook.ipp>
#endif
