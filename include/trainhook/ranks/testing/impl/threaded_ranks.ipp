// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/testing/threaded_ranks.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/thread.hpp>

namespace trainhook::testing {

/// The calls of all ranks, matched by their number.
class ThreadedRanks::Job {
 public:
  Job(int size, Clock& clock) : size_(static_cast<std::size_t>(size)), clock_(&clock) {}

  /// One call, as far as the ranks have made it.
  struct Call {
    std::string_view kind{};  // of the first rank that came
    int root = 0;
    int first_rank = 0;
    std::size_t arrived = 0;
    std::size_t left = 0;
    std::vector<std::string> bytes{};
    Votes votes{};
  };

  inline void arrive(std::size_t number, std::string_view kind, int rank, int root, std::string bytes,
                     const Votes& votes);

  /// Waits until all ranks have made the call, and returns what they brought.
  [[nodiscard]] inline Call wait(std::size_t number, int rank, Duration max_wait);

  inline void leave(int rank);
  inline void end(int rank, const std::string& why);

  [[nodiscard]] std::string why_it_was_ended() const {
    const std::scoped_lock lock(mutex_);
    return why_;
  }
  [[nodiscard]] int num_reductions() const {
    const std::scoped_lock lock(mutex_);
    return num_reductions_;
  }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(size_); }

 private:
  inline void expect_alive() const;
  [[nodiscard]] inline std::vector<int> ranks_that(bool have_made, std::size_t number) const;

  std::size_t size_;
  Clock* clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Call> calls_;
  std::string mismatch_;
  std::string why_;
  int ended_by_ = -1;
  int num_reductions_ = 0;
  std::vector<std::pair<int, std::size_t>> gone_{};  // ranks that have ended, and how many calls they made
  std::map<int, std::size_t> made_{};
};

void ThreadedRanks::Job::expect_alive() const {
  if (!mismatch_.empty()) throw InternalError(mismatch_);
  if (ended_by_ >= 0) throw AbortedError("rank {} has ended the job: {}", ended_by_, why_);
}

void ThreadedRanks::Job::arrive(std::size_t number, std::string_view kind, int rank, int root, std::string bytes,
                                const Votes& votes) {
  const std::scoped_lock lock(mutex_);
  expect_alive();
  made_[rank] = number + 1;
  Call& call = calls_[number];
  if (call.arrived == 0) {
    call.kind = kind;
    call.root = root;
    call.first_rank = rank;
    call.bytes.resize(size_);
  } else if (call.kind != kind || call.root != root) {
    mismatch_ = fmt::format("call {}: rank {} calls '{}' with root {}, and rank {} calls '{}' with root {}", number,
                            call.first_rank, call.kind, call.root, rank, kind, root);
    changed_.notify_all();
    throw InternalError(mismatch_);
  }
  call.bytes[static_cast<std::size_t>(rank)] = std::move(bytes);
  call.votes.add(votes);
  if (++call.arrived < size_) return;
  if (kind == "votes") ++num_reductions_;
  changed_.notify_all();
}

// The ranks that have made the call, or have not.
std::vector<int> ThreadedRanks::Job::ranks_that(bool have_made, std::size_t number) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank) {
    const auto made = made_.find(rank);
    if ((made != made_.end() && made->second > number) == have_made) ranks.push_back(rank);
  }
  return ranks;
}

ThreadedRanks::Job::Call ThreadedRanks::Job::wait(std::size_t number, int rank, Duration max_wait) {
  std::unique_lock lock(mutex_);
  Call& call = calls_.at(number);
  const auto missing = [&] {
    return std::ranges::find_if(gone_, [&](const auto& gone) { return gone.second <= number; });
  };
  const auto is_over = [&] {
    return call.arrived == size_ || ended_by_ >= 0 || !mismatch_.empty() || missing() != gone_.end();
  };
  const Duration deadline = clock_->monotonic_now() + max_wait;
  const Duration warning = clock_->monotonic_now() + std::chrono::seconds(60);
  const auto late = [&](Duration waited) {
    return fmt::format("rank {} has waited {:g} s in '{}' for {}", rank, std::chrono::duration<double>(waited).count(),
                       call.kind, trainhook::detail::ranks_text(ranks_that(false, number)));
  };
  bool in_time = is_over();
  if (!in_time && warning < deadline && !clock_->wait_until(lock, changed_, warning, is_over) &&
      ranks_that(true, number).front() == rank)  // one for all that wait
    log_warning("{}", late(std::chrono::seconds(60)));
  in_time = in_time || clock_->wait_until(lock, changed_, deadline, is_over);
  if (call.arrived < size_) {
    expect_alive();
    if (!in_time) throw DeadlineExceededError("{}", late(max_wait));
    throw UnavailableError("rank {} waits in '{}' for rank {}, which has ended", rank, call.kind, missing()->first);
  }
  Call result = call;
  if (++call.left == size_) calls_.erase(number);
  return result;
}

void ThreadedRanks::Job::leave(int rank) {
  const std::scoped_lock lock(mutex_);
  gone_.emplace_back(rank, made_[rank]);
  changed_.notify_all();
}

void ThreadedRanks::Job::end(int rank, const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (ended_by_ < 0) {
    ended_by_ = rank;
    why_ = why;
  }
  changed_.notify_all();
}

/// One rank's connection.
class ThreadedRanks::Rank final : public Collective {
 public:
  Rank(std::shared_ptr<Job> job, int rank) : job_(std::move(job)), rank_(rank) {}

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return job_->size(); }

  [[nodiscard]] std::string broadcast(std::string bytes, int root, Duration max_wait) override {
    expect_rank("broadcast", root);
    return call("broadcast", root, std::move(bytes), max_wait).bytes.at(static_cast<std::size_t>(root));
  }
  [[nodiscard]] std::vector<std::string> gather(const std::string& bytes, int root, Duration max_wait) override {
    expect_rank("gather", root);
    std::vector<std::string> all = call("gather", root, bytes, max_wait).bytes;
    return rank_ == root ? std::move(all) : std::vector<std::string>();
  }
  void begin(const Votes& votes) override {
    expect_no_reduction("begin");
    job_->arrive(calls_, "votes", rank_, 0, {}, votes);
    reduces_ = true;
  }
  [[nodiscard]] Votes finish(Duration max_wait) override {
    if (!std::exchange(reduces_, false))
      throw FailedPreconditionError("finish: there is no reduction to finish; call begin first");
    return job_->wait(calls_++, rank_, max_wait).votes;
  }
  void barrier(Duration max_wait) override { static_cast<void>(call("barrier", 0, {}, max_wait)); }
  void end_job(const std::string& why) noexcept override { job_->end(rank_, why); }

 private:
  [[nodiscard]] Job::Call call(std::string_view kind, int root, std::string bytes, Duration max_wait) {
    expect_no_reduction(kind);
    job_->arrive(calls_, kind, rank_, root, std::move(bytes), {});
    return job_->wait(calls_++, rank_, max_wait);
  }
  void expect_rank(std::string_view kind, int rank) const {
    if (rank < 0 || rank >= size())
      throw InvalidArgumentError("{}: there is no rank {}, only 0 to {}", kind, rank, size() - 1);
  }
  void expect_no_reduction(std::string_view kind) const {
    if (reduces_) throw FailedPreconditionError("{}: a reduction is under way; call finish first", kind);
  }

  std::shared_ptr<Job> job_;
  int rank_;
  std::size_t calls_ = 0;
  bool reduces_ = false;
};

ThreadedRanks::ThreadedRanks(int size, Clock& clock) : size_(size), clock_(&clock) {
  if (size < 1) throw InvalidArgumentError("ThreadedRanks: size is {}; it must be above 0", size);
}

ThreadedRanks::~ThreadedRanks() = default;

std::vector<std::exception_ptr> ThreadedRanks::run(
    const std::function<void(const std::shared_ptr<Collective>&)>& body) {
  job_ = std::make_shared<Job>(size_, *clock_);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size_));
  std::vector<trainhook::detail::Thread> threads;
  for (int rank = 0; rank < size_; ++rank) {
    const auto fail = [&errors, rank] { errors[static_cast<std::size_t>(rank)] = std::current_exception(); };
    try {
      threads.emplace_back("ThreadedRanks", [this, &body, fail, rank] {
        try {
          body(std::make_shared<Rank>(job_, rank));
        } catch (...) { fail(); }
        job_->leave(rank);
      });
    } catch (const ResourceExhaustedError&) {
      fail();
      job_->leave(rank);
    }
  }
  for (trainhook::detail::Thread& thread : threads) thread.join();
  return errors;
}

std::string ThreadedRanks::why_it_was_ended() const { return job_ != nullptr ? job_->why_it_was_ended() : ""; }

int ThreadedRanks::num_reductions() const { return job_ != nullptr ? job_->num_reductions() : 0; }

}  // namespace trainhook::testing
