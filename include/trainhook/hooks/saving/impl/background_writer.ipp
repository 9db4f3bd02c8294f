// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/saving/background_writer.hpp>

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

std::optional<Save> BackgroundWriter::submit(Save save) {
  if (!has_thread()) {
    commit_in_place(std::move(save));
    return std::nullopt;
  }
  std::optional<Save> replaced(std::move(save));
  {
    const std::scoped_lock lock(mutex_);
    std::swap(replaced, waiting_);
  }
  changed_.notify_all();
  return replaced;
}

void BackgroundWriter::commit_in_place(Save save) {
  save.commit(true);
  const std::scoped_lock lock(mutex_);
  add(std::move(save));
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

std::optional<Save> BackgroundWriter::take_finished() {
  expect_here();
  const std::scoped_lock lock(mutex_);
  if (finished_.empty()) return std::nullopt;
  Save save = std::move(finished_.front());
  finished_.pop_front();
  finished_ready_.fetch_sub(1, std::memory_order_relaxed);
  return save;
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
    Save save = std::move(*std::exchange(waiting_, std::nullopt));
    writing_ = true;
    lock.unlock();
    save.commit(false);
    lock.lock();
    writing_ = false;
    add(std::move(save));
    changed_.notify_all();
  }
}

void BackgroundWriter::add(Save finished) {
  finished_.push_back(std::move(finished));
  finished_ready_.fetch_add(1, std::memory_order_release);
}

}  // namespace trainhook::detail
