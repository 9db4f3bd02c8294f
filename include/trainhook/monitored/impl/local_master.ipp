// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of local_master.hpp.
#pragma once

#include <trainhook/monitored/local_master.hpp>

#include <exception>

#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

TRAINHOOK_DECL OwnedSession LocalMaster::publish(OwnedSession ready) {
  const auto shared = std::make_shared<Shared>(std::move(ready));
  {
    const std::scoped_lock lock(mutex_);
    current_ = shared;
  }
  published_.notify_all();
  return share(shared);
}

TRAINHOOK_DECL void LocalMaster::withdraw() noexcept {
  const std::scoped_lock lock(mutex_);
  if (const std::shared_ptr<Shared> shared = std::exchange(current_, {}).lock()) shared->give_up();
}

TRAINHOOK_DECL OwnedSession LocalMaster::wait_for_session(Duration max_wait) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Shared> shared;
  const bool is_there = clock_->wait_until(lock, published_, deadline_after(*clock_, max_wait), [&] {
    shared = current_.lock();
    return shared != nullptr;
  });
  if (!is_there) {
    throw DeadlineExceededError(
        "Session was not ready after waiting {} secs: the chief has not made one; give workers a longer max_wait_secs, "
        "or see what keeps the chief",
        std::chrono::duration<double>(max_wait).count());
  }
  return share(shared);
}

TRAINHOOK_DECL void LocalMaster::Shared::close() noexcept {
  try {
    session.close();
  } catch (...) { log_error("closing the shared session failed: {}", describe(std::current_exception())); }
}

TRAINHOOK_DECL OwnedSession LocalMaster::share(const std::shared_ptr<Shared>& shared) {
  return {.owner = shared,
          .session = shared->session.session,
          .restored_from = shared->session.restored_from,
          .lost = {shared, &shared->lost}};
}

}  // namespace trainhook
