// SPDX-License-Identifier: Apache-2.0
/// @file
/// ChiefSessionCreator: restores or initializes the model, as the one process that is in charge of it.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/creation/local_master.hpp>
#include <trainhook/creation/scaffold.hpp>
#include <trainhook/creation/session_manager.hpp>

namespace trainhook {

struct ChiefSessionCreatorOptions {
  std::shared_ptr<Scaffold> scaffold{};         ///< null: a new one with all defaults
  std::string checkpoint_dir{};                 ///< restore its newest good checkpoint, if it has any
  std::string checkpoint_filename_with_path{};  ///< or exactly this one
  std::shared_ptr<LocalMaster> master{};        ///< where workers of this process find the session; null: there are none
  FileSystem* file_system = nullptr;            ///< null: the machine's own
  Clock* clock = nullptr;                       ///< null: the machine's own
};

/// Finalizes the scaffold, then prepares a session. Source: TensorFlow's `ChiefSessionCreator`.
class ChiefSessionCreator final : public SessionCreator {
 public:
  /// `open` makes raw sessions of `graph`, which must outlive this. @throws InvalidArgumentError for an empty `open`.
  ChiefSessionCreator(Graph& graph, SessionManager::Open open, ChiefSessionCreatorOptions options = {})
      : graph_(&graph), open_(std::move(open)), options_(std::move(options)) {
    if (!open_) throw InvalidArgumentError("ChiefSessionCreator: open is empty; give the function that makes a session of the graph");
    if (options_.scaffold == nullptr) options_.scaffold = std::make_shared<Scaffold>();
  }

  [[nodiscard]] Graph& graph() override { return *graph_; }

  [[nodiscard]] OwnedSession create_session() override {
    if (options_.master != nullptr) options_.master->withdraw();
    Scaffold& scaffold = *options_.scaffold;
    scaffold.finalize(*graph_);
    scaffold.saver()->use(file_system(), options_.clock != nullptr ? *options_.clock : system_clock());
    if (!manager_) manager_.emplace(manager_options());
    InitOptions init{.init_op = scaffold.init_op(), .init_feed_dict = scaffold.init_feed_dict()};
    if (scaffold.has_init_fn()) init.init_fn = [&scaffold](SessionRef session) { scaffold.init_fn(session); };
    OwnedSession ready = manager_->prepare_session(open_,
                                                   {.saver = scaffold.saver(),
                                                    .checkpoint_dir = options_.checkpoint_dir,
                                                    .checkpoint_filename_with_path = options_.checkpoint_filename_with_path},
                                                   init);
    return options_.master != nullptr ? options_.master->publish(std::move(ready)) : ready;
  }

  [[nodiscard]] bool has_checkpoint() const noexcept override {
    if (!options_.checkpoint_filename_with_path.empty()) return true;
    if (options_.checkpoint_dir.empty()) return false;
    try {
      return !detail::restorable_checkpoints(file_system(), *graph_, options_.checkpoint_dir).empty();
    } catch (...) {
      log_warning("checkpoints cannot be looked for in ", options_.checkpoint_dir, ": ", describe(std::current_exception()));
      return false;
    }
  }

  /// What the last session was restored from.
  [[nodiscard]] RestoreReport report() const { return manager_ ? manager_->report() : RestoreReport{}; }

 private:
  [[nodiscard]] FileSystem& file_system() const noexcept {
    return options_.file_system != nullptr ? *options_.file_system : posix_file_system();
  }

  SessionManagerOptions manager_options() const {
    const Scaffold& scaffold = *options_.scaffold;
    return {.local_init_op = scaffold.local_init_op(),
            .local_init_feed_dict = scaffold.local_init_feed_dict(),
            .ready_op = scaffold.ready_op(),
            .ready_for_local_init_op = scaffold.local_init_op().has_value() ? scaffold.ready_for_local_init_op() : Output(),
            .ask_session = true,
            .file_system = options_.file_system,
            .clock = options_.clock};
  }

  Graph* graph_;
  SessionManager::Open open_;
  ChiefSessionCreatorOptions options_;
  std::optional<SessionManager> manager_;  // made once the scaffold has its pieces
};

/// A chief for sessions of engine `S` on `graph`, which must outlive it; `session_args` go to the engine's constructor behind the graph.
template <SessionLike S, class... SessionArgs>
[[nodiscard]] std::shared_ptr<ChiefSessionCreator> chief_session_creator(Graph& graph, ChiefSessionCreatorOptions options = {},
                                                                         SessionArgs... session_args) {
  return std::make_shared<ChiefSessionCreator>(
      graph, [&graph, session_args...] { return OwnedSession::make<S>(graph, session_args...); }, std::move(options));
}

}  // namespace trainhook
