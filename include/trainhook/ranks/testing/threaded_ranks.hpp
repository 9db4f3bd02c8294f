// SPDX-License-Identifier: Apache-2.0
/// @file
/// ThreadedRanks: several ranks as threads of one process, for tests of jobs.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/ranks/collective.hpp>

namespace trainhook::testing {

/// A job whose ranks are threads. It is stricter than MPI: ranks that make different calls get an InternalError that
/// names the calls, and no call waits for a rank that has ended. After a minute a call logs which ranks it waits for.
class ThreadedRanks {
 public:
  /// @param clock measures how long calls wait; must outlive this
  /// @throws InvalidArgumentError if `size` is not positive.
  TRAINHOOK_DECL explicit ThreadedRanks(int size, Clock& clock = system_clock());
  ThreadedRanks(const ThreadedRanks&) = delete;
  ThreadedRanks& operator=(const ThreadedRanks&) = delete;
  TRAINHOOK_DECL ~ThreadedRanks();

  /// Calls `body` on one thread per rank, waits for all of them, and returns their exceptions: null for a rank that
  /// returned. Can be called again for the next job.
  TRAINHOOK_DECL std::vector<std::exception_ptr> run(
      const std::function<void(const std::shared_ptr<Collective>& collective)>& body);

  /// Why a rank ended the last job; empty if none did.
  [[nodiscard]] TRAINHOOK_DECL std::string why_it_was_ended() const;

  /// The number of reductions of votes in the last job.
  [[nodiscard]] TRAINHOOK_DECL int num_reductions() const;

 private:
  class Job;
  class Rank;

  int size_;
  Clock* clock_;
  std::shared_ptr<Job> job_;
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/testing/impl/threaded_ranks.ipp>
#endif
