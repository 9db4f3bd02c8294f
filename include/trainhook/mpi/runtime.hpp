// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runtime: initializes MPI and finalizes it.
#pragma once

#include <optional>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/mpi/communicator.hpp>

namespace trainhook::mpi {

/// Begins MPI for this process, and ends it with its destructor. Make one at the start of `main`; the thread that makes
/// it is the one that trains. If MPI was begun before, it is used as it is and not ended.
///
/// Its destructor waits for the other ranks to end as well, and ends the job if they do not: after `max_wait`, or ten
/// seconds if it is destroyed by an exception. So no rank waits forever for one that is gone or hangs.
class Runtime {
 public:
  /// Calls MPI_Init_thread, which removes its own arguments.
  /// @param max_wait how long it waits for the other ranks at its start and at its end; then it ends the job
  /// @throws FailedPreconditionError if MPI was ended already, or if it has less than MPI_THREAD_FUNNELED: checkpoints
  /// and input pipelines have threads of their own, which do not call MPI.
  TRAINHOOK_DECL Runtime(int& argc, char**& argv, Duration max_wait = kMaxWait);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  TRAINHOOK_DECL ~Runtime();

  /// All processes of the job.
  [[nodiscard]] const Communicator& world() const noexcept { return *world_; }

 private:
  TRAINHOOK_DECL void begin(int& argc, char**& argv);
  TRAINHOOK_DECL void end() noexcept;

  bool is_ours_ = false;
  Duration max_wait_;
  int exceptions_at_start_;
  std::optional<Communicator> world_;
  std::optional<Communicator> ends_;  // so that the end is not mixed with a call that was not finished
};

}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/runtime.ipp>
#endif
