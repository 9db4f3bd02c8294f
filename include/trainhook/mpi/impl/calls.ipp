// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/calls.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <mpi.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/process_mark.hpp>

namespace trainhook::mpi::detail {

bool is_running() noexcept {
  static const trainhook::detail::ProcessMark process;  // a forked child must not touch its parent's MPI
  if (!process.is_here()) return false;
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

void expect_success(int code, const char* call, int rank) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw InternalError("{} failed on rank {}: {}", call, rank,
                      length > 0 ? std::string_view(text.data(), static_cast<std::size_t>(length))
                                 : std::string_view("MPI gives no reason"));
}

/// What its processes wrote last is lost if MPICH's launcher has not read it when the job is aborted.
inline constexpr std::chrono::milliseconds kTimeToRead{200};

void end_job(int rank, std::string_view why) noexcept {
  try {
    trainhook::detail::log_last_line(fmt::format("rank {} ends the job: {}", rank, why));
  } catch (...) {  // there is no memory for the line
  }
  std::this_thread::sleep_for(kTimeToRead);
  MPI_Abort(MPI_COMM_WORLD, 1);  // of another communicator MPICH asks the ranks, and waits for one that hangs
  std::abort();                  // which MPI_Abort has done before it could return
}

}  // namespace trainhook::mpi::detail
