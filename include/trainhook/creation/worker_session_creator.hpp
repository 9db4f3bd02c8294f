// SPDX-License-Identifier: Apache-2.0
/// @file
/// WorkerSessionCreator: joins the session that the chief of the same process has made.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include <trainhook/creation/local_master.hpp>
#include <trainhook/creation/session_creator.hpp>

namespace trainhook {

inline constexpr Duration kDefaultWorkerWait = std::chrono::seconds(1800);

struct WorkerSessionCreatorOptions {
  std::shared_ptr<LocalMaster> master{};        ///< the one that the chief was given
  Duration max_wait_secs = kDefaultWorkerWait;  ///< how long to wait for the chief, each time
};

/// Never initializes or restores: that is the chief's. It waits for the chief's session, with its graph, and for the next one when that is
/// lost. Hooks of a worker find the graph finalized; their state is not saved. Close workers before their chief.
/// Source: TensorFlow's `WorkerSessionCreator`.
class WorkerSessionCreator final : public SessionCreator {
 public:
  /// @throws UnimplementedError without a master: workers in processes of their own do not exist. InvalidArgumentError for a negative wait.
  explicit WorkerSessionCreator(WorkerSessionCreatorOptions options) : options_(std::move(options)) {
    if (options_.master == nullptr) {
      throw UnimplementedError(
          "WorkerSessionCreator: master is not given; a worker is a thread of its chief's process, so give both the same LocalMaster");
    }
    if (options_.max_wait_secs < Duration::zero()) {
      throw InvalidArgumentError("WorkerSessionCreator: max_wait_secs is ", std::chrono::duration<double>(options_.max_wait_secs).count(),
                                 "; it must not be negative");
    }
  }

  /// The chief's graph; waits for it.
  [[nodiscard]] Graph& graph() override {
    if (graph_ == nullptr) graph_ = &create_session().session.graph();
    return *graph_;
  }

  [[nodiscard]] OwnedSession create_session() override { return options_.master->wait_for_session(options_.max_wait_secs); }

  /// What comes back after a loss is the chief's affair.
  [[nodiscard]] bool has_checkpoint() const noexcept override { return true; }
  [[nodiscard]] bool is_chief() const noexcept override { return false; }

 private:
  WorkerSessionCreatorOptions options_;
  Graph* graph_ = nullptr;
};

}  // namespace trainhook
