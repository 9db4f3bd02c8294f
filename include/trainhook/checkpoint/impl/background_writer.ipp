// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of background_writer.hpp.
#pragma once

#include <trainhook/checkpoint/background_writer.hpp>

#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::detail {

BackgroundWriter::~BackgroundWriter() {
  if (!process_.is_here()) return;
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool BackgroundWriter::is_busy() {
  expect_here();
  const std::scoped_lock lock(mutex_);
  return writing_ || waiting_.has_value();
}

std::optional<std::int64_t> BackgroundWriter::submit(std::int64_t step, Commit commit) {
  if (!has_thread()) {
    write_in_place(step, std::move(commit));
    return std::nullopt;
  }
  std::optional<Job> replaced = Job{step, std::move(commit)};
  {
    const std::scoped_lock lock(mutex_);
    std::swap(replaced, waiting_);
  }
  changed_.notify_all();
  return replaced ? std::optional(replaced->step) : std::nullopt;
}

void BackgroundWriter::write_in_place(std::int64_t step, Commit commit) {
  Job job{step, std::move(commit)};
  Outcome outcome = run(job);
  const std::scoped_lock lock(mutex_);
  add(std::move(outcome));
}

bool BackgroundWriter::has_thread() {
  expect_here();
  if (thread_.joinable()) return true;
  try {
    thread_ = Thread("a background save", [this] { work(); });
  } catch (const ResourceExhaustedError& error) {
    if (!std::exchange(has_said_, true))
      log_warning("{}; the loop waits until its checkpoints are written", error.what());
  }
  return thread_.joinable();
}

std::optional<BackgroundWriter::Outcome> BackgroundWriter::take_outcome() {
  expect_here();
  const std::scoped_lock lock(mutex_);
  if (outcomes_.empty()) return std::nullopt;
  Outcome outcome = std::move(outcomes_.front());
  outcomes_.pop_front();
  outcomes_ready_.fetch_sub(1, std::memory_order_relaxed);
  return outcome;
}

void BackgroundWriter::wait() {
  expect_here();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !writing_ && !waiting_; });
}

void BackgroundWriter::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ || closing_; });
    if (!waiting_) return;
    std::optional<Job> job = std::exchange(waiting_, std::nullopt);
    writing_ = true;
    lock.unlock();
    Outcome outcome = run(*job);
    job.reset();  // releases the model's memory, before anybody is told
    lock.lock();
    writing_ = false;
    add(std::move(outcome));
    changed_.notify_all();
  }
}

void BackgroundWriter::add(Outcome outcome) {
  outcomes_.push_back(std::move(outcome));
  outcomes_ready_.fetch_add(1, std::memory_order_release);
}

BackgroundWriter::Outcome BackgroundWriter::run(Job& job) noexcept {
  Outcome outcome{.step = job.step};
  try {
    outcome.prefix = job.commit();
  } catch (...) { outcome.error = std::current_exception(); }
  return outcome;
}

}  // namespace trainhook::detail
