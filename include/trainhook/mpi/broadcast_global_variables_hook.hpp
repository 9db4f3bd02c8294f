// SPDX-License-Identifier: Apache-2.0
/// @file
/// BroadcastGlobalVariablesHook: all ranks start from the values of one.
#pragma once

#include <memory>

#include <trainhook/core/linkage.hpp>
#include <trainhook/mpi/all_reduce.hpp>
#include <trainhook/mpi/communicator.hpp>
#include <trainhook/ranks/collective.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::mpi {

/// Gives the variables of all ranks the values of rank `root_rank` whenever a session has been created: random initial
/// values become the same on all ranks, and values that only this rank has restored reach the others. Random ops draw
/// other numbers on each rank from then on. All ranks must have this hook. It is called before other hooks, so they see
/// the global step of the root. A `monitored_training_session` with `peers` shares the values itself and does
/// not need this hook. Source: Horovod's `BroadcastGlobalVariablesHook`.
class BroadcastGlobalVariablesHook final : public SessionRunHook {
 public:
  /// All ranks must make it together. @throws InvalidArgumentError if there is no such rank.
  /// @param max_wait_secs how long to wait for the other ranks; after that the job is ended
  TRAINHOOK_DECL explicit BroadcastGlobalVariablesHook(const Communicator& comm, int root_rank = 0,
                                                       Duration max_wait_secs = kMaxWait);

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Check; }
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;

 private:
  std::shared_ptr<Collective> ranks_;
  int root_rank_;
  Duration max_wait_;
};

}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/broadcast_global_variables_hook.ipp>
#endif
