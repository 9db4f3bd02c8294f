// SPDX-License-Identifier: Apache-2.0
/// @file
/// LocalMaster: where the chief and the workers of one process meet over one session.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/creation/session_creator.hpp>

namespace trainhook {

/// Hands the session that the chief has made to the worker threads of the same process; it ends with the last of its users. Thread-safe.
/// The engine's `execute` must be, too: a GraphSession's is.
class LocalMaster {
 public:
  explicit LocalMaster(Clock& clock = system_clock()) : clock_(&clock) {}

  /// For the chief: everybody may use `ready` from now on. Gives the chief's own share.
  [[nodiscard]] OwnedSession publish(OwnedSession ready) {
    const auto shared = std::make_shared<Shared>(std::move(ready));
    {
      const std::scoped_lock lock(mutex_);
      current_ = shared;
    }
    published_.notify_all();
    return share(shared);
  }

  /// For the chief: the session is lost. Whoever uses it hears so at his next run; whoever comes waits for the next one.
  void withdraw() noexcept {
    const std::scoped_lock lock(mutex_);
    if (const std::shared_ptr<Shared> shared = std::exchange(current_, {}).lock()) shared->give_up();
  }

  /// A share of the chief's session, as soon as there is one. @throws DeadlineExceededError after `max_wait`.
  [[nodiscard]] OwnedSession wait_for_session(Duration max_wait) {
    std::unique_lock lock(mutex_);
    std::shared_ptr<Shared> shared;
    const bool is_there = clock_->wait_until(lock, published_, deadline_after(*clock_, max_wait), [&] {
      shared = current_.lock();
      return shared != nullptr;
    });
    if (!is_there) {
      throw DeadlineExceededError("Session was not ready after waiting ", std::chrono::duration<double>(max_wait).count(),
                                  " secs: the chief has not made one; give workers a longer max_wait_secs, or see what keeps the chief");
    }
    return share(shared);
  }

 private:
  struct Shared {
    explicit Shared(OwnedSession ready) : session(std::move(ready)) {}
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared() { close(); }

    void give_up() noexcept {
      lost = true;
      close();
    }
    void close() noexcept {
      try {
        session.close();
      } catch (...) {
        log_error("closing the shared session failed: ", describe(std::current_exception()));
      }
    }

    OwnedSession session;
    std::atomic<bool> lost = false;
  };

  static OwnedSession share(const std::shared_ptr<Shared>& shared) {
    return {.owner = shared, .session = shared->session.session, .restored_from = shared->session.restored_from, .lost = {shared, &shared->lost}};
  }

  Clock* clock_;
  std::mutex mutex_;
  std::condition_variable published_;
  std::weak_ptr<Shared> current_;
};

}  // namespace trainhook
