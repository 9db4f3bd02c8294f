// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/request.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/mpi/roll_call.hpp>

namespace trainhook::mpi::detail {

bool Request::is_done() {
  int done = 0;
  expect_success(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), call_, rank_);
  return done != 0;
}

/// What a rank does about the others while it waits.
class LongWait {
 public:
  LongWait(const char* what, int rank, Duration max_wait, RollCall* others, Clock& clock)
      : what_(what), rank_(rank), max_wait_(max_wait), others_(others), clock_(&clock), begin_(clock.monotonic_now()) {
    plan_question(Duration::zero());
  }

  /// @throws DeadlineExceededError if it is too late.
  inline void look();

 private:
  static constexpr Duration kAnswerTime = std::chrono::seconds(3);  // ranks that wait answer ten times a second
  static constexpr Duration kLookPeriod = std::chrono::milliseconds(100);

  // So that answers are there before the next text.
  void plan_question(Duration waited) {
    ask_ = (std::min)(report_, max_wait_) - kAnswerTime;
    if (ask_ < waited) ask_ = (Duration::max)();  // too late for answers
  }

  [[nodiscard]] std::string text(Duration waited) const {
    return fmt::format("rank {} has waited {:g} s in {} for other ranks{}", rank_,
                       std::chrono::duration<double>(waited).count(), what_,
                       asked_ ? ": " + others_->text(what_) : std::string());
  }

  const char* what_;
  int rank_;
  Duration max_wait_;
  RollCall* others_;
  Clock* clock_;
  Duration begin_;
  Duration look_ = Duration::zero();  // these are times since then
  Duration report_ = std::chrono::seconds(60);
  Duration ask_ = Duration::zero();
  bool asked_ = false;
};

void LongWait::look() {
  const Duration waited = clock_->monotonic_now() - begin_;
  if (others_ != nullptr && waited >= look_) {
    look_ = waited + kLookPeriod;
    others_->serve(what_);
    if (waited >= ask_) {
      others_->ask();
      asked_ = true;
      ask_ = (Duration::max)();
    }
  }
  if (waited >= max_wait_) throw DeadlineExceededError("{}", text(max_wait_));
  if (waited < report_) return;
  if (others_ == nullptr || others_->is_first_to_wait()) log_warning("{}", text(report_));
  report_ *= 2;
  plan_question(waited);
}

void wait_until(FunctionRef<bool()> is_done, const char* what, int rank, Duration max_wait, RollCall* others,
                Clock& clock) {
  constexpr int kTriesAtFirst = 64;  // most are done after a few microseconds
  for (int i = 0; i < kTriesAtFirst; ++i) {
    if (is_done()) return;
  }
  LongWait wait(what, rank, max_wait, others, clock);
  while (!is_done()) {
    wait.look();
    std::this_thread::yield();
  }
}

}  // namespace trainhook::mpi::detail
