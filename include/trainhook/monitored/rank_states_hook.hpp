// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankStatesHook: puts what each rank of a job has of its own into the checkpoints of the chief.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::detail {

/// The rounds around saves, which RankAgreement makes.
class SaveRounds {
 public:
  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;

  /// How this rank gives what it has of its own when the chief collects that, which it may do while this rank is in any
  /// round. If it throws, all ranks get its error.
  virtual void give_state_by(std::function<std::string()> give) = 0;

  /// For the chief: what each rank gives. All ranks must be at the same step boundary, and call `meet` there.
  [[nodiscard]] virtual std::vector<std::string> collect() = 0;

  /// A call of all ranks at a step boundary at which the chief may have collected, when it has done so.
  /// @param next_save of the chief: from which step on it may save by the step alone
  virtual void meet(std::int64_t next_save) = 0;

  /// Whether all ranks meet at the end of the step that `step` returns, which is called only if it matters.
  [[nodiscard]] virtual bool meets_at(FunctionRef<std::int64_t()> step) const = 0;

  /// Of the chief, for the rounds after a step: as for `meet`.
  virtual void expect_save(std::int64_t next_save) noexcept = 0;

  [[nodiscard]] virtual bool has_agreed_to_stop() const noexcept = 0;
  [[nodiscard]] virtual const std::string& stop_reason() const noexcept = 0;

 protected:
  ~SaveRounds() = default;
};

/// The last hook of the phase `Save`, on every rank. The chief's savers come before it, and collect through it. All
/// ranks meet in it at the end of each step after which the chief may save, of the session's creation, and of the
/// session; the others give their state meanwhile, which is therefore of the same step. Nothing of this happens on a
/// writer's thread.
class RankStatesHook final : public SessionRunHook, public StatesOfRanks {
 public:
  explicit RankStatesHook(SaveRounds& rounds) : rounds_(&rounds) {}
  RankStatesHook(const RankStatesHook&) = delete;
  RankStatesHook& operator=(const RankStatesHook&) = delete;
  TRAINHOOK_DECL ~RankStatesHook() override;

  [[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> collect(SessionRef session, std::int64_t step) override;

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Save; }
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef session) override;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::string own_state() const;

  SaveRounds* rounds_;
  SessionRef session_;
  bool has_global_step_ = false;
  std::optional<std::vector<NamedTensor>> collected_;  // at this step boundary, for the savers that follow
  int depth_ = 0;                                      // of runs inside runs, which may be one rank's alone
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/rank_states_hook.ipp>
#endif
