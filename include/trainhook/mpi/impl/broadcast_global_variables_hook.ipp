// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/broadcast_global_variables_hook.hpp>

#include <string>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/ranks/share_variables.hpp>

namespace trainhook::mpi {

BroadcastGlobalVariablesHook::BroadcastGlobalVariablesHook(const Communicator& comm, int root_rank,
                                                           Duration max_wait_secs)
    : ranks_(collective(comm, max_wait_secs)), root_rank_(root_rank), max_wait_(max_wait_secs) {
  if (root_rank < 0 || root_rank >= comm.size())
    throw InvalidArgumentError("BroadcastGlobalVariablesHook: there is no rank {}, only 0 to {}", root_rank,
                               comm.size() - 1);
}

void BroadcastGlobalVariablesHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  session.draw_share(ranks_->rank(), ranks_->size());
  trainhook::detail::share_variables(session, ranks_->rank() == root_rank_, [&](std::string bytes) {
    try {
      return ranks_->broadcast(std::move(bytes), root_rank_, max_wait_);
    } catch (const DeadlineExceededError& error) {  // MPI still uses the memory of the call
      ranks_->end_job(error.what());
      throw;
    }
  });
}

}  // namespace trainhook::mpi
