// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/communicator.hpp>

#include <string_view>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/mpi/request.hpp>
#include <trainhook/mpi/roll_call.hpp>

namespace trainhook::mpi {

struct Communicator::Handle {
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (comm != MPI_COMM_NULL && detail::is_running()) MPI_Comm_free(&comm);
  }

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  std::shared_ptr<detail::RollCall> roll_call;
};

namespace detail {

/// Ends the job after `max_wait`: the duplication cannot be given up. @param roll_call may be null
inline MPI_Comm duplicate_of(MPI_Comm original, int rank, Duration max_wait, RollCall* roll_call) {
  MPI_Comm comm = MPI_COMM_NULL;
  try {
    Request request("MPI_Comm_idup", rank, roll_call);
    expect_success(MPI_Comm_idup(original, &comm, request.native()), "MPI_Comm_idup", rank);
    request.wait(max_wait);
  } catch (const DeadlineExceededError& error) { end_job(rank, error.what()); }
  expect_success(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", rank);
  return comm;
}

/// In a job of several processes, their log lines would else be mixed up.
inline void put_rank_into_log() {
  int rank = 0;
  int size = 1;
  expect_success(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank", 0);
  expect_success(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size", rank);
  if (size > 1) trainhook::detail::set_log_prefix(fmt::format("[rank {}] ", rank));
}

}  // namespace detail

Communicator::Communicator(MPI_Comm original, Duration max_wait) {
  if (!detail::is_running())
    throw FailedPreconditionError(
        "mpi::Communicator: MPI is not running; "
        "make an mpi::Runtime at the start of main and let it live until the end");
  if (original == MPI_COMM_NULL) {
    throw InvalidArgumentError(
        "mpi::Communicator: it is MPI_COMM_NULL, as MPI_Comm_split gives a rank that is in no group; such a rank makes "
        "no session");
  }
  detail::put_rank_into_log();
  const auto handle = std::make_shared<Handle>();
  handle_ = handle;
  detail::expect_success(MPI_Comm_rank(original, &handle->rank), "MPI_Comm_rank", 0);
  detail::expect_success(MPI_Comm_size(original, &handle->size), "MPI_Comm_size", handle->rank);
  handle->comm = detail::duplicate_of(original, handle->rank, max_wait, nullptr);
  handle->roll_call =
      std::make_shared<detail::RollCall>(detail::duplicate_of(handle->comm, handle->rank, max_wait, nullptr));
}

Communicator Communicator::duplicate(Duration max_wait) const {
  const auto handle = std::make_shared<Handle>();
  handle->rank = rank();
  handle->size = size();
  handle->roll_call = handle_->roll_call;
  handle->comm = detail::duplicate_of(native(), rank(), max_wait, &roll_call());
  return Communicator(handle);
}

int Communicator::rank() const noexcept { return handle_->rank; }

int Communicator::size() const noexcept { return handle_->size; }

MPI_Comm Communicator::native() const noexcept { return handle_->comm; }

detail::RollCall& Communicator::roll_call() const noexcept { return *handle_->roll_call; }

}  // namespace trainhook::mpi

namespace trainhook::mpi::detail {

void expect_threads(std::string_view who, bool is_ours) {
  int level = MPI_THREAD_SINGLE;
  expect_success(MPI_Query_thread(&level), "MPI_Query_thread", 0);
  if (level >= MPI_THREAD_FUNNELED) return;
  throw FailedPreconditionError(
      "{}: MPI runs with MPI_THREAD_SINGLE, and a program that saves checkpoints has threads. {}", who,
      is_ours ? "Use an MPI that was built with support for threads"
              : "Let mpi::Runtime begin MPI, or call MPI_Init_thread with MPI_THREAD_FUNNELED instead of MPI_Init");
}

}  // namespace trainhook::mpi::detail
