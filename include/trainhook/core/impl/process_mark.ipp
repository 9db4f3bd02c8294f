// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/process_mark.hpp>

#include <pthread.h>
#include <unistd.h>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

std::atomic<int>& num_forks() noexcept {
  static std::atomic<int> count{0};
  return count;
}

int counted_forks() noexcept {
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++num_forks(); });
  return num_forks().load(std::memory_order_relaxed);
}

ProcessMark::ProcessMark() noexcept : forks_(counted_forks()), pid_(::getpid()) {}

bool ProcessMark::is_here() const noexcept { return forks_ == num_forks().load(std::memory_order_relaxed); }

void ProcessMark::refuse(std::string_view what, std::string_view way_out) const {
  throw FailedPreconditionError("process {} was forked from process {}, which has {}: {}", ::getpid(), pid_, what,
                                way_out);
}

}  // namespace trainhook::detail
