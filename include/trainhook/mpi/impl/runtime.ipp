// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <exception>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/mpi/request.hpp>
#include <trainhook/mpi/watchdog.hpp>

namespace trainhook::mpi {

Runtime::Runtime(int& argc, char**& argv, Duration max_wait)
    : max_wait_(max_wait), exceptions_at_start_(std::uncaught_exceptions()) {
  begin(argc, argv);
  try {
    detail::expect_threads("mpi::Runtime", is_ours_);
    world_.emplace(MPI_COMM_WORLD, max_wait_);
    if (is_ours_) ends_ = world_->duplicate(max_wait_);
  } catch (...) {
    if (is_ours_) end();
    throw;
  }
}

Runtime::~Runtime() {
  if (!is_ours_ || !detail::is_running()) return;
  const bool by_exception = std::uncaught_exceptions() > exceptions_at_start_;
  const Duration max_wait = by_exception ? (std::min)(max_wait_, Duration(std::chrono::seconds(10))) : max_wait_;
  const int rank = world_->rank();
  try {
    if (by_exception && world_->size() > 1)
      log_error("rank {} ends by an exception; it waits up to {:g} s for the others to end, too", rank,
                std::chrono::duration<double>(max_wait).count());
    detail::Request all_are_here("MPI_Finalize", rank, &ends_->roll_call());
    detail::expect_success(MPI_Ibarrier(ends_->native(), all_are_here.native()), "MPI_Ibarrier", rank);
    all_are_here.wait(max_wait);
  } catch (...) {
    detail::end_job(rank, fmt::format("it ends{}, and the other ranks did not end with it: {}",
                                      by_exception ? " by an exception" : "", describe(std::current_exception())));
  }
  ends_.reset();
  world_.reset();
  end();
}

void Runtime::begin(int& argc, char**& argv) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0)
    throw FailedPreconditionError(
        "mpi::Runtime: MPI has ended, and a process can begin it only once; make one Runtime at the start of main");
  if (detail::is_running()) return;
  const detail::Watchdog watchdog("MPI_Init_thread", max_wait_);
  int level = MPI_THREAD_SINGLE;
  detail::expect_success(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread", 0);
  is_ours_ = true;
}

void Runtime::end() noexcept {
  const detail::Watchdog watchdog("MPI_Finalize", max_wait_);
  if (MPI_Finalize() != MPI_SUCCESS) log_error("MPI_Finalize failed");
}

}  // namespace trainhook::mpi
