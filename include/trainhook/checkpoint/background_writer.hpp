// SPDX-License-Identifier: Apache-2.0
/// @file
/// BackgroundWriter: a thread that commits checkpoints, one after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/thread.hpp>

namespace trainhook::detail {

/// Runs one save at a time on a background thread; one more may wait. Call all members on one thread, and in the
/// process that made it.
class BackgroundWriter {
 public:
  /// The result of one save.
  struct Outcome {
    std::int64_t step = 0;
    std::string prefix{};        ///< of the committed checkpoint; empty if the save failed
    std::exception_ptr error{};  ///< null if the checkpoint is committed
  };

  /// Commits a checkpoint and returns its prefix.
  using Commit = std::function<std::string()>;

  BackgroundWriter() = default;
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Waits for the submitted saves, but not in a forked child. Outcomes that were not taken are lost.
  TRAINHOOK_DECL ~BackgroundWriter();

  /// True while a save is being written or is waiting.
  [[nodiscard]] TRAINHOOK_DECL bool is_busy();

  /// Starts the thread unless it runs. False if there can be none, which a log line says once.
  [[nodiscard]] TRAINHOOK_DECL bool has_thread();

  /// Submits a save of a snapshot. If another one is waiting, replaces it and returns its step. If there can be no
  /// thread, the save is written before this returns.
  TRAINHOOK_DECL std::optional<std::int64_t> submit(std::int64_t step, Commit commit);

  /// Commits at once, also what is no snapshot.
  TRAINHOOK_DECL void write_in_place(std::int64_t step, Commit commit);

  /// True if `take_outcome` has something to return. Takes no lock.
  [[nodiscard]] bool has_outcome() const noexcept { return outcomes_ready_.load(std::memory_order_acquire) > 0; }

  /// Takes the oldest outcome, if there is one.
  [[nodiscard]] TRAINHOOK_DECL std::optional<Outcome> take_outcome();

  /// Waits until all submitted saves are done.
  TRAINHOOK_DECL void wait();

 private:
  struct Job {
    std::int64_t step;
    Commit commit;
  };

  TRAINHOOK_DECL void work() noexcept;
  TRAINHOOK_DECL static Outcome run(Job& job) noexcept;
  TRAINHOOK_DECL void add(Outcome outcome);
  void expect_here() const { process_.expect_here("this background save"); }

  std::mutex mutex_;
  WaitCondition changed_;
  std::optional<Job> waiting_;
  std::deque<Outcome> outcomes_;
  std::atomic<int> outcomes_ready_ = 0;
  bool writing_ = false;
  bool closing_ = false;
  bool has_said_ = false;  // that there is no thread
  Thread thread_;
  ProcessMark process_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/background_writer.ipp>
#endif
