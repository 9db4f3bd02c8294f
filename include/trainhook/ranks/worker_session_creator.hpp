// SPDX-License-Identifier: Apache-2.0
/// @file
/// WorkerSessionCreator: uses the session that the chief of the same process has created.
#pragma once

#include <chrono>
#include <memory>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_creator.hpp>

namespace trainhook {

class LocalMaster;

namespace detail {

class ChiefStatus;

}  // namespace detail

inline constexpr Duration kDefaultWorkerWait = std::chrono::seconds(1800);

struct WorkerSessionCreatorOptions {
  std::shared_ptr<LocalMaster> master{};        ///< the chief's
  Duration max_wait_secs = kDefaultWorkerWait;  ///< how long to wait for the chief, each time
};

/// Waits for the chief's session, and for the next one after a loss; never initializes, restores or fills queues. If
/// the chief ends with an error, its workers do too. The graph is finalized when a worker's hooks begin, and their
/// state is not saved. Close all workers before their chief. Source: TensorFlow's `WorkerSessionCreator`.
class WorkerSessionCreator final : public SessionCreator {
 public:
  /// @throws UnimplementedError without a master, because workers in other processes are not supported;
  /// InvalidArgumentError for a negative wait.
  TRAINHOOK_DECL explicit WorkerSessionCreator(WorkerSessionCreatorOptions options);

  [[nodiscard]] TRAINHOOK_DECL OwnedSession create_session() override;

  /// The chief's graph; waits for the chief.
  [[nodiscard]] TRAINHOOK_DECL Graph& graph() override;

  /// Always true: the chief decides whether training continues.
  [[nodiscard]] bool has_checkpoint() const noexcept override { return true; }
  [[nodiscard]] bool is_chief() const noexcept override { return false; }

 private:
  WorkerSessionCreatorOptions options_;
  Graph* graph_ = nullptr;
  std::shared_ptr<detail::ChiefStatus> chief_;  // of the last session; null: none yet
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/worker_session_creator.ipp>
#endif
