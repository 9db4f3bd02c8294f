// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/thread.hpp>
#include <trainhook/mpi/request.hpp>

namespace trainhook::mpi::detail {

/// Ends this process, and by that the job, unless it is destroyed in time: for calls that cannot be given up and after
/// or before which MPI cannot end the job.
class Watchdog {
 public:
  Watchdog(const char* call, Duration max_wait, Clock& clock = system_clock()) noexcept : clock_(clock) {
    try {
      thread_ = trainhook::detail::Thread("mpi::Runtime", [this, call, max_wait] { watch(call, max_wait); });
    } catch (const ResourceExhaustedError& error) {
      log_warning("{}; if other ranks do not come, nothing ends the wait in {}", error.what(), call);
    }
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    const std::scoped_lock lock(mutex_);
    is_done_ = true;
    changed_.notify_all();
  }

 private:
  void watch(const char* call, Duration max_wait) {
    const Duration begin = clock_.monotonic_now();
    const auto is_done = [this] { return is_done_; };
    std::unique_lock lock(mutex_);
    for (Duration report = std::chrono::seconds(60); report < max_wait; report *= 2) {
      if (clock_.wait_until(lock, changed_, begin + report, is_done)) return;
      lock.unlock();
      log_warning("this process has waited {:g} s in {} for other ranks; it ends after {:g} s", seconds(report), call,
                  seconds(max_wait));
      lock.lock();
    }
    if (clock_.wait_until(lock, changed_, begin + max_wait, is_done)) return;
    trainhook::detail::log_last_line(fmt::format(
        "the process ends, and the job with it: it has waited {:g} s in {} for other ranks", seconds(max_wait), call));
    std::_Exit(1);
  }

  static double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

  Clock& clock_;
  std::mutex mutex_;
  trainhook::detail::WaitCondition changed_;
  bool is_done_ = false;
  trainhook::detail::Thread thread_;  // the last one, because it uses the others
};

}  // namespace trainhook::mpi::detail

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
