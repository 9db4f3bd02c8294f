// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runtime: initializes MPI and finalizes it.
#pragma once

#include <optional>

#include <trainhook/core/linkage.hpp>
#include <trainhook/mpi/communicator.hpp>

namespace trainhook::mpi {

/// Begins MPI for this process, and ends it with its destructor. Make one at the start of `main`; the thread that makes
/// it is the one that trains. If MPI was begun before, it is used as it is and not ended.
///
/// If it is destroyed by an exception, it waits ten seconds for the other ranks to end as well, and then ends the job
/// with MPI_Abort, so that no rank waits for one that is gone.
class Runtime {
 public:
  /// Calls MPI_Init_thread, which removes its own arguments.
  /// @throws FailedPreconditionError if MPI was ended already, or if it has less than MPI_THREAD_FUNNELED: checkpoints
  /// and input pipelines have threads of their own, which do not call MPI.
  TRAINHOOK_DECL Runtime(int& argc, char**& argv);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  TRAINHOOK_DECL ~Runtime();

  /// All processes of the job.
  [[nodiscard]] const Communicator& world() const noexcept { return *world_; }

 private:
  TRAINHOOK_DECL void begin(int& argc, char**& argv);
  TRAINHOOK_DECL void end() noexcept;

  bool is_ours_ = false;
  int exceptions_at_start_;
  std::optional<Communicator> world_;
};

}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/runtime.ipp>
#endif
