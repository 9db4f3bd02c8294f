// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/workers.hpp>

#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/ranks/worker_session_creator.hpp>

namespace trainhook::detail {

inline std::shared_ptr<LocalMaster> checked_master(std::shared_ptr<LocalMaster> master) {
  if (master == nullptr)
    throw InvalidArgumentError("the master is null; the chief and its workers need one LocalMaster");
  return master;
}

class PublishingSessionCreator final : public SessionCreator {
 public:
  PublishingSessionCreator(std::shared_ptr<LocalMaster> master, std::shared_ptr<SessionCreator> creator)
      : master_(checked_master(std::move(master))), creator_(checked_creator(std::move(creator))) {}

  [[nodiscard]] OwnedSession create_session() override {
    master_->withdraw();
    return master_->publish(creator_->create_session());
  }
  [[nodiscard]] Graph& graph() override { return creator_->graph(); }
  [[nodiscard]] bool has_checkpoint() const noexcept override { return creator_->has_checkpoint(); }
  [[nodiscard]] bool is_chief() const noexcept override { return creator_->is_chief(); }
  void session_failed(const std::exception_ptr& error) noexcept override {
    master_->fail(error);
    creator_->session_failed(error);
  }

 private:
  std::shared_ptr<LocalMaster> master_;
  std::shared_ptr<SessionCreator> creator_;
};

class ChiefPeers final : public SessionPeers {
 public:
  explicit ChiefPeers(std::shared_ptr<LocalMaster> master) : master_(checked_master(std::move(master))) {}

  [[nodiscard]] bool shares_session() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<SessionCreator> creator(std::shared_ptr<ChiefSessionCreator> alone) override {
    return ranks::publish(master_, std::move(alone));
  }

 private:
  std::shared_ptr<LocalMaster> master_;
};

class WorkerPeers final : public SessionPeers {
 public:
  explicit WorkerPeers(WorkerSessionCreatorOptions options) : options_(std::move(options)) {}

  [[nodiscard]] bool is_chief() const noexcept override { return false; }
  [[nodiscard]] Peers& of(const SessionRunHook& /*hook*/) override { return none(); }
  [[nodiscard]] bool shares_session() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<SessionCreator> creator(std::shared_ptr<ChiefSessionCreator> /*alone*/) override {
    return std::make_shared<WorkerSessionCreator>(options_);
  }

 private:
  WorkerSessionCreatorOptions options_;
};

}  // namespace trainhook::detail

namespace trainhook {

std::shared_ptr<SessionPeers> ranks::chief(std::shared_ptr<LocalMaster> master) {
  return std::make_shared<detail::ChiefPeers>(std::move(master));
}

std::shared_ptr<SessionPeers> ranks::worker(std::shared_ptr<LocalMaster> master, Duration max_wait_secs) {
  return std::make_shared<detail::WorkerPeers>(
      WorkerSessionCreatorOptions{.master = std::move(master), .max_wait_secs = max_wait_secs});
}

std::shared_ptr<SessionCreator> ranks::publish(std::shared_ptr<LocalMaster> master,
                                               std::shared_ptr<SessionCreator> creator) {
  return std::make_shared<detail::PublishingSessionCreator>(std::move(master), std::move(creator));
}

}  // namespace trainhook
