// SPDX-License-Identifier: Apache-2.0
/// @file
/// Communicator: a group of MPI processes that exchange messages of their own.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include <mpi.h>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/mpi/roll_call.hpp>

namespace trainhook::mpi {

namespace detail {
class RollCall;
}

/// How long a call waits for other ranks by default, as a training session does.
inline constexpr Duration kMaxWait = std::chrono::hours(2);

/// Owns a communicator of MPI. Copies are cheap and share it; the last one frees it, unless MPI has ended before. MPI's
/// errors become exceptions, which name the call and the rank. The ranks are those of the communicator, from 0.
class Communicator {
 public:
  /// A duplicate of `original`, so that its messages are not mixed with others. All ranks of `original` must make it.
  /// @param max_wait how long to wait for the other ranks; after that the job is ended with MPI_Abort
  /// @throws FailedPreconditionError unless MPI is initialized: make an mpi::Runtime before.
  TRAINHOOK_DECL explicit Communicator(MPI_Comm original, Duration max_wait = kMaxWait);

  /// A new communicator for the same ranks. All of them must make the call.
  [[nodiscard]] TRAINHOOK_DECL Communicator duplicate(Duration max_wait = kMaxWait) const;

  [[nodiscard]] TRAINHOOK_DECL int rank() const noexcept;
  [[nodiscard]] TRAINHOOK_DECL int size() const noexcept;

  /// For calls of MPI of your own. Its error handler is MPI_ERRORS_RETURN.
  [[nodiscard]] TRAINHOOK_DECL MPI_Comm native() const noexcept;

  /// For waiting: finds out who is missing. Duplicates share it.
  [[nodiscard]] TRAINHOOK_DECL detail::RollCall& roll_call() const noexcept;

 private:
  struct Handle;
  explicit Communicator(std::shared_ptr<const Handle> handle) : handle_(std::move(handle)) {}

  std::shared_ptr<const Handle> handle_;
};

namespace detail {

/// @throws FailedPreconditionError, naming `who`, if MPI has less than MPI_THREAD_FUNNELED.
/// @param is_ours whether this library began MPI
TRAINHOOK_DECL void expect_threads(std::string_view who, bool is_ours);

}  // namespace detail
}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/communicator.ipp>
#endif
