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
#include <utility>

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
  ~BackgroundWriter() {
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// Whether a save is being written or waits.
  [[nodiscard]] bool is_busy() {
    const std::scoped_lock lock(mutex_);
    return writing_ || waiting_.has_value();
  }

  /// Hands a save over. The step of one that was waiting and is replaced by it, if any.
  std::optional<std::int64_t> submit(std::int64_t step, Commit commit) {
    std::optional<Job> replaced = Job{step, std::move(commit)};
    {
      const std::scoped_lock lock(mutex_);
      std::swap(replaced, waiting_);
      if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    }
    changed_.notify_all();
    return replaced ? std::optional(replaced->step) : std::nullopt;
  }

  /// Whether `take_outcome` has something to give.
  [[nodiscard]] bool has_outcome() const noexcept { return outcomes_ready_.load(std::memory_order_acquire) > 0; }

  /// The oldest outcome that was not taken yet.
  [[nodiscard]] std::optional<BackgroundWrite> take_outcome() {
    const std::scoped_lock lock(mutex_);
    if (outcomes_.empty()) return std::nullopt;
    BackgroundWrite outcome = std::move(outcomes_.front());
    outcomes_.pop_front();
    outcomes_ready_.fetch_sub(1, std::memory_order_relaxed);
    return outcome;
  }

  /// Waits until nothing is being written and nothing waits.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !writing_ && !waiting_; });
  }

 private:
  struct Job {
    std::int64_t step;
    Commit commit;
  };

  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return waiting_ || closing_; });
      if (!waiting_) return;
      std::optional<Job> job = std::exchange(waiting_, std::nullopt);
      writing_ = true;
      lock.unlock();
      BackgroundWrite outcome = run(*job);
      job.reset();  // releases the model's memory, before anybody is told
      lock.lock();
      writing_ = false;
      outcomes_.push_back(std::move(outcome));
      outcomes_ready_.fetch_add(1, std::memory_order_release);
      changed_.notify_all();
    }
  }

  static BackgroundWrite run(Job& job) noexcept {
    BackgroundWrite outcome{.step = job.step};
    try {
      outcome.prefix = job.commit();
    } catch (...) {
      outcome.error = std::current_exception();
    }
    return outcome;
  }

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
