// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/local_master.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/thread.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/ranks/chief_status.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

struct LocalMaster::Shared {
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
    } catch (...) { log_error("closing the shared session failed: {}", describe(std::current_exception())); }
  }

  OwnedSession session;
  std::atomic<bool> lost = false;
};

class LocalMaster::Share : public SharedSession {
 public:
  Share(std::shared_ptr<Shared> shared, std::shared_ptr<detail::ChiefStatus> chief)
      : shared_(std::move(shared)), chief_(std::move(chief)) {}

  [[nodiscard]] bool is_lost() const noexcept override { return shared_->lost; }

  template <class Kind>
  [[nodiscard]] static OwnedSession of(const std::shared_ptr<Shared>& shared,
                                       const std::shared_ptr<detail::ChiefStatus>& chief) {
    return {.owner = shared,
            .session = shared->session.session,
            .restored_from = shared->session.restored_from,
            .shared = std::make_shared<Kind>(shared, chief)};
  }

 protected:
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<detail::ChiefStatus> chief_;
};

class LocalMaster::ChiefsShare final : public Share {
 public:
  using Share::Share;

  void begin(std::shared_ptr<const Coordinator> threads) override { chief_->set_threads(std::move(threads)); }
  [[nodiscard]] std::exception_ptr error() const override { return nullptr; }
  [[nodiscard]] std::exception_ptr cause() const override { return nullptr; }
  void lose() noexcept override { shared_->lost = true; }
  void close(SessionRef session) override {
    if (chief_->has_failed()) session.close();  // for the workers, too
  }
};

class LocalMaster::WorkersShare final : public Share {
 public:
  using Share::Share;

  void begin(std::shared_ptr<const Coordinator> /*threads*/) override {}
  [[nodiscard]] std::exception_ptr error() const override {
    return chief_->has_failed() ? chief_->error_for_worker() : nullptr;
  }
  [[nodiscard]] std::exception_ptr cause() const override { return chief_->thread_error(); }
  void lose() noexcept override {}
  void close(SessionRef /*session*/) override {}
};

struct LocalMaster::State {
  Clock* clock;
  std::mutex mutex{};
  detail::WaitCondition published{};
  std::weak_ptr<Shared> current{};
  std::shared_ptr<detail::ChiefStatus> chief = detail::make_shared_object<detail::ChiefStatus>();
};

LocalMaster::LocalMaster(Clock& clock) : state_(new State{&clock}) {}

LocalMaster::~LocalMaster() = default;

OwnedSession LocalMaster::publish(OwnedSession ready) {
  const auto shared = detail::make_shared_object<Shared>(std::move(ready));
  OwnedSession own;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->current = shared;
    if (state_->chief->has_failed())
      state_->chief = detail::make_shared_object<detail::ChiefStatus>();  // this is the next chief
    state_->chief->set_threads(nullptr);
    own = Share::of<ChiefsShare>(shared, state_->chief);
  }
  state_->published.notify_all();
  return own;
}

void LocalMaster::withdraw() noexcept {
  const std::scoped_lock lock(state_->mutex);
  if (const std::shared_ptr<Shared> shared = std::exchange(state_->current, {}).lock()) shared->give_up();
}

void LocalMaster::fail(const std::exception_ptr& error) noexcept {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->chief->fail(error);
    state_->current.reset();
  }
  state_->published.notify_all();
}

OwnedSession LocalMaster::wait_for_session(Duration max_wait, std::shared_ptr<detail::ChiefStatus>& chief) {
  std::unique_lock lock(state_->mutex);
  const std::shared_ptr<detail::ChiefStatus> expected =
      chief != nullptr || state_->chief->has_failed() ? chief : state_->chief;
  const auto has_failed = [&] { return expected != nullptr && expected->has_failed(); };
  std::shared_ptr<Shared> shared;
  const bool is_there =
      state_->clock->wait_until(lock, state_->published, state_->clock->monotonic_now() + max_wait, [&] {
        shared = state_->current.lock();
        const bool ends = shared != nullptr && (shared->lost || state_->chief->thread_error() != nullptr);
        if (ends) shared = nullptr;  // it is about to be withdrawn
        return shared != nullptr || has_failed();
      });
  if (has_failed()) std::rethrow_exception(expected->error_for_worker());
  if (!is_there) {
    throw DeadlineExceededError(
        "Session was not ready after waiting {} secs: the chief has not made one; give workers a longer max_wait_secs, "
        "or see what keeps the chief",
        std::chrono::duration<double>(max_wait).count());
  }
  chief = state_->chief;
  return Share::of<WorkersShare>(shared, chief);
}

}  // namespace trainhook
