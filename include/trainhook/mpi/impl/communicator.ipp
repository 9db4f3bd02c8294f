// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of communicator.hpp.
#pragma once

#include <trainhook/mpi/communicator.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

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
};

TRAINHOOK_DECL Communicator::Communicator(MPI_Comm original) {
  if (!detail::is_running())
    throw FailedPreconditionError(
        "mpi::Communicator: MPI is not running; "
        "make an mpi::Runtime at the start of main and let it live until the end");
  const auto handle = std::make_shared<Handle>();
  handle_ = handle;
  detail::expect_success(MPI_Comm_rank(original, &handle->rank), "MPI_Comm_rank", 0);
  detail::expect_success(MPI_Comm_dup(original, &handle->comm), "MPI_Comm_dup", handle->rank);
  detail::expect_success(MPI_Comm_set_errhandler(handle->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler",
                         handle->rank);
  detail::expect_success(MPI_Comm_size(handle->comm, &handle->size), "MPI_Comm_size", handle->rank);
}

TRAINHOOK_DECL Communicator Communicator::duplicate() const { return Communicator(handle_->comm); }

TRAINHOOK_DECL int Communicator::rank() const noexcept { return handle_->rank; }

TRAINHOOK_DECL int Communicator::size() const noexcept { return handle_->size; }

TRAINHOOK_DECL MPI_Comm Communicator::native() const noexcept { return handle_->comm; }

}  // namespace trainhook::mpi

namespace trainhook::mpi::detail {

TRAINHOOK_DECL void expect_success(int code, const char* call, int rank) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw InternalError("{} failed on rank {}: {}", call, rank,
                      length > 0 ? std::string_view(text.data(), static_cast<std::size_t>(length))
                                 : std::string_view("MPI gives no reason"));
}

TRAINHOOK_DECL void expect_threads(std::string_view who, bool is_ours) {
  int level = MPI_THREAD_SINGLE;
  expect_success(MPI_Query_thread(&level), "MPI_Query_thread", 0);
  if (level >= MPI_THREAD_FUNNELED) return;
  throw FailedPreconditionError(
      "{}: MPI runs with MPI_THREAD_SINGLE, and a program that saves checkpoints has threads. {}", who,
      is_ours ? "Use an MPI that was built with support for threads"
              : "Let mpi::Runtime begin MPI, or call MPI_Init_thread with MPI_THREAD_FUNNELED instead of MPI_Init");
}

TRAINHOOK_DECL void end_job(MPI_Comm comm, int rank, std::string_view why) noexcept {
  log_error("rank {} ends the job: {}", rank, why);
  MPI_Abort(comm, 1);
  std::abort();  // which MPI_Abort has done before it could return
}

TRAINHOOK_DECL bool is_running() noexcept {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

}  // namespace trainhook::mpi::detail
