// SPDX-License-Identifier: Apache-2.0
/// @file
/// LocalMaster: where the chief and the workers of one process meet over one session.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_creator.hpp>

namespace trainhook {

/// Hands the session that the chief has made to the worker threads of the same process; it ends with the last of its
/// users. Thread-safe. The engine's `execute` must be, too: a GraphSession's is.
class LocalMaster {
 public:
  explicit LocalMaster(Clock& clock = system_clock()) : clock_(&clock) {}

  /// For the chief: everybody may use `ready` from now on. Gives the chief's own share.
  [[nodiscard]] TRAINHOOK_DECL OwnedSession publish(OwnedSession ready);

  /// For the chief: the session is lost. Whoever uses it hears so at his next run; whoever comes waits for the next
  /// one.
  TRAINHOOK_DECL void withdraw() noexcept;

  /// A share of the chief's session, as soon as there is one. @throws DeadlineExceededError after `max_wait`.
  [[nodiscard]] TRAINHOOK_DECL OwnedSession wait_for_session(Duration max_wait);

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
    TRAINHOOK_DECL void close() noexcept;

    OwnedSession session;
    std::atomic<bool> lost = false;
  };

  TRAINHOOK_DECL static OwnedSession share(const std::shared_ptr<Shared>& shared);

  Clock* clock_;
  std::mutex mutex_;
  std::condition_variable published_;
  std::weak_ptr<Shared> current_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/local_master.ipp>
#endif
