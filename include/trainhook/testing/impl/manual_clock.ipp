// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/manual_clock.hpp>

#include <algorithm>
#include <vector>

namespace trainhook::testing {

Duration ManualClock::monotonic_now() {
  const std::scoped_lock lock(mutex_);
  ++reads_;
  return now_;
}

double ManualClock::wall_seconds() {
  const std::scoped_lock lock(mutex_);
  return wall_start_ + std::chrono::duration<double>(now_).count();
}

void ManualClock::advance(Duration by) {
  {
    const std::scoped_lock lock(mutex_);
    now_ += by;
  }
  wake_all();
}

void ManualClock::set_wall_seconds(double seconds_since_1970) {
  const std::scoped_lock lock(mutex_);
  wall_start_ = seconds_since_1970 - std::chrono::duration<double>(now_).count();
}

void ManualClock::auto_advance(bool on) {
  const std::scoped_lock lock(mutex_);
  auto_advance_ = on;
}

bool ManualClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Duration deadline,
                             FunctionRef<bool()> ready) {
  if (ready()) return true;
  const auto waiter = enter(*lock.mutex(), changed, deadline);
  changed.wait(lock, [&] { return ready() || reached(deadline); });
  leave(lock, waiter);
  return ready();
}

std::size_t ManualClock::waiters() {
  const std::scoped_lock lock(mutex_);
  return waiters_.size();
}

ManualClock::Entry ManualClock::enter(std::mutex& mutex, std::condition_variable& changed, Duration deadline) {
  const std::scoped_lock lock(mutex_);
  if (auto_advance_) now_ = (std::max)(now_, deadline);
  return waiters_.insert(waiters_.end(), {&mutex, &changed});
}

void ManualClock::leave(std::unique_lock<std::mutex>& lock, Entry waiter) {
  std::unique_lock own(mutex_);
  if (waiter->wakers > 0) {
    lock.unlock();
    woken_.wait(own, [&] { return waiter->wakers == 0; });
    waiters_.erase(waiter);
    own.unlock();
    lock.lock();
  } else {
    waiters_.erase(waiter);
  }
}

void ManualClock::wake_all() {
  std::vector<Entry> entries;
  {
    const std::scoped_lock lock(mutex_);
    for (Entry entry = waiters_.begin(); entry != waiters_.end(); ++entry) {
      ++entry->wakers;
      entries.push_back(entry);
    }
  }
  for (const Entry entry : entries) {
    {
      const std::scoped_lock lock(*entry->mutex);  // a waiter that has read the time is waiting by now
      entry->changed->notify_all();
    }
    const std::scoped_lock lock(mutex_);
    --entry->wakers;
    woken_.notify_all();
  }
}

bool ManualClock::reached(Duration deadline) {
  const std::scoped_lock lock(mutex_);
  return now_ >= deadline;
}

}  // namespace trainhook::testing
