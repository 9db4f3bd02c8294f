// SPDX-License-Identifier: Apache-2.0
/// @file
/// BackgroundWriter: one thread that commits what was taken, one after the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// What became of one save.
struct BackgroundWrite {
  std::int64_t step = 0;
  std::string prefix{};        ///< where it was committed, unless it failed
  std::exception_ptr error{};  ///< null where it is committed
};

/// Runs one save at a time on a thread of its own, while one more may wait. The thread starts with the first save.
/// All calls belong on one thread; asking whether there is an outcome takes no lock.
class BackgroundWriter {
 public:
  /// Commits a checkpoint and gives its prefix.
  using Commit = std::function<std::string()>;

  BackgroundWriter() = default;
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Waits for what was handed over. Outcomes that nobody asked for are gone.
  TRAINHOOK_DECL ~BackgroundWriter();

  /// Whether a save is being written or waits.
  [[nodiscard]] TRAINHOOK_DECL bool is_busy();

  /// Hands a save over. The step of one that was waiting and is replaced by it, if any.
  TRAINHOOK_DECL std::optional<std::int64_t> submit(std::int64_t step, Commit commit);

  /// Whether `take_outcome` has something to give.
  [[nodiscard]] bool has_outcome() const noexcept { return outcomes_ready_.load(std::memory_order_acquire) > 0; }

  /// The oldest outcome that was not taken yet.
  [[nodiscard]] TRAINHOOK_DECL std::optional<BackgroundWrite> take_outcome();

  /// Waits until nothing is being written and nothing waits.
  TRAINHOOK_DECL void wait();

 private:
  struct Job {
    std::int64_t step;
    Commit commit;
  };

  TRAINHOOK_DECL void work() noexcept;
  TRAINHOOK_DECL static BackgroundWrite run(Job& job) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> waiting_;
  std::deque<BackgroundWrite> outcomes_;
  std::atomic<int> outcomes_ready_ = 0;
  bool writing_ = false;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/background_writer.ipp>
#endif
