// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/source_threads.hpp>

#include <chrono>

#include <trainhook/core/log.hpp>

namespace trainhook::detail {

SourceThreads::~SourceThreads() = default;

void SourceThreads::start_thread(std::function<void()> body) {
  threads_.reserve(threads_.size() + 1);
  const std::scoped_lock lock(mutex_);
  threads_.emplace_back(what_, [this, self = shared_from_this(), body = std::move(body)]() mutable {
    body();
    {
      const std::scoped_lock done(mutex_);
      --running_;
      changed_.notify_all();
    }
    body = nullptr;
    self.reset();  // of a thread that is left behind it is the last one
  });
  ++running_;
}

void SourceThreads::end() noexcept {
  if (!process_.is_here()) return;
  bool have_ended = false;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, longest_wait_for_a_source, [this] { return running_ == 0; });
    have_ended = running_ == 0;
  }
  if (!have_ended) {
    log_error(
        "{}: its source has not returned for {} s, and its thread is left behind; let a source return when nothing "
        "more comes",
        what_, std::chrono::duration_cast<std::chrono::seconds>(longest_wait_for_a_source).count());
  }
  for (Thread& thread : threads_) have_ended ? thread.join() : thread.detach();
}

}  // namespace trainhook::detail
