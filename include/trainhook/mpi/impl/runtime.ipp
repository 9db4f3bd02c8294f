// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of runtime.hpp.
#pragma once

#include <trainhook/mpi/runtime.hpp>

#include <chrono>
#include <exception>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/mpi/request.hpp>

namespace trainhook::mpi {

TRAINHOOK_DECL Runtime::Runtime(int& argc, char**& argv) : exceptions_at_start_(std::uncaught_exceptions()) {
  begin(argc, argv);
  try {
    detail::expect_threads("mpi::Runtime", is_ours_);
    world_.emplace(MPI_COMM_WORLD);
  } catch (...) {
    if (is_ours_) end();
    throw;
  }
}

TRAINHOOK_DECL Runtime::~Runtime() {
  if (!is_ours_ || !detail::is_running()) return;
  if (std::uncaught_exceptions() > exceptions_at_start_) {
    try {
      detail::Request all_are_here("MPI_Ibarrier", world_->rank());
      detail::expect_success(MPI_Ibarrier(world_->native(), all_are_here.native()), "MPI_Ibarrier", world_->rank());
      all_are_here.wait(std::chrono::seconds(10));
    } catch (...) {
      detail::end_job(MPI_COMM_WORLD, world_->rank(),
                      fmt::format("it ends by an exception, and the other ranks did not end with it: {}",
                                  describe(std::current_exception())));
    }
  }
  world_.reset();
  end();
}

TRAINHOOK_DECL void Runtime::begin(int& argc, char**& argv) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0)
    throw FailedPreconditionError(
        "mpi::Runtime: MPI has ended, and a process can begin it only once; make one Runtime at the start of main");
  if (detail::is_running()) return;
  int level = MPI_THREAD_SINGLE;
  detail::expect_success(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread", 0);
  is_ours_ = true;
}

TRAINHOOK_DECL void Runtime::end() noexcept {
  if (MPI_Finalize() != MPI_SUCCESS) log_error("MPI_Finalize failed");
}

}  // namespace trainhook::mpi
