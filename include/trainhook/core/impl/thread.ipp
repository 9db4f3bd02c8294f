// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/thread.hpp>

#include <system_error>
#include <thread>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

struct Thread::Started {
  explicit Started(std::function<void()> body) : thread(std::move(body)) {}

  std::thread thread;
  ProcessMark process{};
};

Thread::Thread() noexcept = default;

Thread::Thread(std::string_view what, std::function<void()> body) {
  try {
    started_ = std::make_unique<Started>(std::move(body));
  } catch (const std::system_error& error) {
    throw ResourceExhaustedError(
        "{} cannot start a thread: {} (raise the limit of processes, ulimit -u, or that of the container)", what,
        error.code().message());
  }
}

Thread::Thread(Thread&& other) noexcept = default;

Thread& Thread::operator=(Thread&& other) noexcept {
  Thread before(std::move(*this));  // is waited for
  started_ = std::move(other.started_);
  return *this;
}

Thread::~Thread() {
  join();
  static_cast<void>(started_.release());  // null, unless this is a forked child
}

bool Thread::joinable() const noexcept { return started_ != nullptr && started_->process.is_here(); }

void Thread::join() noexcept {
  if (!joinable()) return;
  started_->thread.join();
  started_.reset();
}

void Thread::detach() noexcept {
  if (!joinable()) return;
  started_->thread.detach();
  started_.reset();
}

}  // namespace trainhook::detail
