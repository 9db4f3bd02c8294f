// SPDX-License-Identifier: Apache-2.0
/// @file
/// WorkerSessionCreator: joins the session that the chief of the same process has made.
#pragma once

#include <chrono>
#include <memory>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/monitored/local_master.hpp>
#include <trainhook/monitored/session_creator.hpp>

namespace trainhook {

inline constexpr Duration kDefaultWorkerWait = std::chrono::seconds(1800);

struct WorkerSessionCreatorOptions {
  std::shared_ptr<LocalMaster> master{};        ///< the one that the chief was given
  Duration max_wait_secs = kDefaultWorkerWait;  ///< how long to wait for the chief, each time
};

/// Never initializes or restores: that is the chief's. It waits for the chief's session, with its graph, and for the
/// next one when that is lost. Hooks of a worker find the graph finalized; their state is not saved. Close workers
/// before their chief. Source: TensorFlow's `WorkerSessionCreator`.
class WorkerSessionCreator final : public SessionCreator {
 public:
  /// @throws UnimplementedError without a master: workers in processes of their own do not exist. InvalidArgumentError
  /// for a negative wait.
  TRAINHOOK_DECL explicit WorkerSessionCreator(WorkerSessionCreatorOptions options);

  /// The chief's graph; waits for it.
  [[nodiscard]] TRAINHOOK_DECL Graph& graph() override;

  [[nodiscard]] OwnedSession create_session() override {
    return options_.master->wait_for_session(options_.max_wait_secs);
  }

  /// What comes back after a loss is the chief's affair.
  [[nodiscard]] bool has_checkpoint() const noexcept override { return true; }
  [[nodiscard]] bool is_chief() const noexcept override { return false; }

 private:
  WorkerSessionCreatorOptions options_;
  Graph* graph_ = nullptr;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/worker_session_creator.ipp>
#endif
