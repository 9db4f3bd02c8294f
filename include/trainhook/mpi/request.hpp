// SPDX-License-Identifier: Apache-2.0
/// @file
/// Request: an operation of MPI that is under way, and that is waited for with a deadline.
#pragma once

#include <mpi.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::mpi::detail {

class RollCall;

/// Asks `is_done` until it says so; lets other processes of the machine run meanwhile. After a minute, and again after
/// twice that time, the first of the ranks that wait logs which ones are missing.
/// @param what for messages: "rank 1 has waited 10 s in `what` for other ranks"
/// @param others tells who is missing; may be null
/// @throws DeadlineExceededError after `max_wait`.
TRAINHOOK_DECL void wait_until(FunctionRef<bool()> is_done, const char* what, int rank, Duration max_wait,
                               RollCall* others = nullptr, Clock& clock = system_clock());

/// One non-blocking call.
class Request {
 public:
  /// @param call the name of the call, for messages; must outlive this, as `others` must; see `wait_until`
  Request(const char* call, int rank, RollCall* others = nullptr) noexcept
      : call_(call), rank_(rank), others_(others) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// For the call that starts it.
  [[nodiscard]] MPI_Request* native() noexcept { return &request_; }

  /// Returns when it is done. @throws DeadlineExceededError after `max_wait`. MPI may still use the buffers of the
  /// call, so a catcher must end the job before they are gone.
  void wait(Duration max_wait) {
    wait_until([this] { return is_done(); }, call_, rank_, max_wait, others_);
  }

  /// Lets MPI move messages, and returns at once.
  [[nodiscard]] TRAINHOOK_DECL bool is_done();

 private:
  const char* call_;
  int rank_;
  RollCall* others_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace trainhook::mpi::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/request.ipp>
#endif
