// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankStatesHook: adds the own state of each rank of a job to the chief's checkpoints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/ranks/rank_rounds.hpp>
#include <trainhook/ranks/sharded_save.hpp>
#include <trainhook/session/peers.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::detail {

struct TensorsOfOthers;

/// The last hook of the phase `Save`, on every rank. The chief's savers come before it and collect state through it.
/// All ranks meet in it after the session's creation, at the end of each step after which the chief may save, and at
/// the end of the session. There the other ranks give their state, which is therefore of the same step, and write their
/// parts of a checkpoint. They also meet once all parts that are written in the background are complete. All of this
/// happens on the loop's thread.
class RankStatesHook final : public SessionRunHook, public CheckpointPart {
 public:
  TRAINHOOK_DECL explicit RankStatesHook(RankRounds& rounds);
  RankStatesHook(const RankStatesHook&) = delete;
  RankStatesHook& operator=(const RankStatesHook&) = delete;
  TRAINHOOK_DECL ~RankStatesHook() override;

  /// Before `begin`: the names of the tensors of which ranks have parts, sorted.
  TRAINHOOK_DECL void set_tensors_in_parts(std::vector<std::string> names);

  /// See Peers::expect_save.
  void expect_save(std::int64_t step) noexcept { expected_save_ = (std::min)(step, expected_save_); }

  /// This rank leaves its loop because its own input has ended: what it has of its own stays as it is.
  void input_has_ended() noexcept { is_at_end_of_input_ = true; }

  /// Adds what this rank says of saves in a round of the loop, and follows what all say.
  TRAINHOOK_DECL void add_to(Votes& votes) const;
  TRAINHOOK_DECL void follow(const Votes& all) noexcept;

  /// Why another rank vetoes the save, with its number; nothing if none does, or if the ranks do not meet at that step.
  /// The ranks send their state and inputs together with the answer. If the saver is sharded or ranks have parts of
  /// tensors, they are then asked to write their files of the current values; without such files the chief writes
  /// everything, because the saver has its own disk, the state is too small, the ranks are not at the same step, or the
  /// save is for a run inside a step.
  /// @throws FailedPreconditionError instead, if other ranks have parts of a tensor.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> veto(SaveMoment& moment) override;

  /// What `veto` got: it asks for everything, since a failure of a rank ends the job whatever a saver hook tolerates.
  TRAINHOOK_DECL void take(const SaveMoment& moment, TakenParts& taken) override;

  [[nodiscard]] bool is_incomplete() const noexcept override { return shards_.are_awaited(); }

  /// Waits until all ranks have written their files.
  TRAINHOOK_DECL bool complete(std::optional<std::int64_t> step) override;

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Save; }
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  [[nodiscard]] TRAINHOOK_DECL RankAnswer answer_to(const std::string& order);
  [[nodiscard]] TRAINHOOK_DECL std::int64_t own_step() const;
  // Whether all ranks meet at the end of the step that `step` returns; calls it only if necessary.
  [[nodiscard]] TRAINHOOK_DECL bool meet_at(FunctionRef<std::int64_t()> step) const;
  [[nodiscard]] TRAINHOOK_DECL bool can_collect(std::int64_t step) const;
  TRAINHOOK_DECL std::vector<std::string> ask_all(const std::string& order, std::optional<std::string>* veto = nullptr);
  TRAINHOOK_DECL void ask_for_veto(const SaveMoment& moment);
  // False at the end of a run inside a step function, which only this rank makes, so the others would not answer.
  [[nodiscard]] TRAINHOOK_DECL bool ranks_meet_at(std::int64_t step) const;
  // The current state that only the other ranks have, named as in the checkpoint; empty if the saver saves no such.
  [[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> collect(const SaveMoment& moment);
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<PartsOfOthers> write_parts(const SaveMoment& moment);
  TRAINHOOK_DECL void fetch_parts();
  TRAINHOOK_DECL void keep(const std::vector<std::string>& given, bool has_states);
  TRAINHOOK_DECL void forget_answers() noexcept;
  TRAINHOOK_DECL void meet(std::int64_t next_save);

  RankRounds& rounds_;
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
  bool is_at_end_of_input_ = false;
  // When the ranks meet next: at the end of this step if a save was granted or all have written their parts, or from a
  // step on, because of the step alone.
  bool is_save_granted_ = false;
  bool are_parts_written_ = false;
  std::int64_t next_save_ = Peers::kAnyStep;  // from the chief
  std::int64_t chiefs_next_save_ = Peers::kAnyStep;
  std::int64_t expected_save_ = Peers::kNoStep;  // of this rank's hooks, since the last run
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_states_hook.ipp>
#endif
