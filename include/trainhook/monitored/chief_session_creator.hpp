// SPDX-License-Identifier: Apache-2.0
/// @file
/// ChiefSessionCreator: restores or initializes the model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/monitored/session_manager.hpp>

namespace trainhook {

class Scaffold;

struct ChiefSessionCreatorOptions {
  std::shared_ptr<Scaffold> scaffold{};              ///< null: a new one with all defaults
  std::string checkpoint_dir{};                      ///< restore its newest good checkpoint, if it has one
  CheckpointSource checkpoint_filename_with_path{};  ///< or exactly this one
  std::shared_ptr<const RestorePolicy> restore{};    ///< null: all of a checkpoint has to fit
  FileSystem* file_system = nullptr;                 ///< null: the disk; must outlive the session
  Clock* clock = nullptr;                            ///< null: the system's clock; must outlive the session
};

/// Finalizes the scaffold, then prepares a session. Source: TensorFlow's `ChiefSessionCreator`.
class ChiefSessionCreator final : public SessionCreator {
 public:
  /// @param graph must outlive this
  /// @param open opens a session of `graph` with uninitialized variables
  /// @throws InvalidArgumentError if `open` is empty.
  TRAINHOOK_DECL ChiefSessionCreator(Graph& graph, SessionManager::Open open, ChiefSessionCreatorOptions options = {});
  ChiefSessionCreator(const ChiefSessionCreator&) = delete;
  ChiefSessionCreator& operator=(const ChiefSessionCreator&) = delete;
  TRAINHOOK_DECL ~ChiefSessionCreator() override;

  [[nodiscard]] TRAINHOOK_DECL OwnedSession create_session() override;
  [[nodiscard]] Graph& graph() override { return *graph_; }
  [[nodiscard]] TRAINHOOK_DECL bool has_checkpoint() const noexcept override;

  [[nodiscard]] const SessionManager::Open& open() const noexcept { return open_; }
  [[nodiscard]] const ChiefSessionCreatorOptions& options() const noexcept { return options_; }

  /// The report of the last restore.
  [[nodiscard]] TRAINHOOK_DECL RestoreReport report() const;

 private:
  Graph* graph_;
  SessionManager::Open open_;
  ChiefSessionCreatorOptions options_;
  std::unique_ptr<SessionManager> manager_;  // created once the scaffold is complete
};

/// A chief for sessions of engine `S` on `graph`, which must outlive it. `session_args` are passed to the engine's
/// constructor after the graph.
template <SessionLike S, class... SessionArgs>
[[nodiscard]] std::shared_ptr<ChiefSessionCreator> chief_session_creator(Graph& graph,
                                                                         ChiefSessionCreatorOptions options = {},
                                                                         SessionArgs... session_args) {
  return std::make_shared<ChiefSessionCreator>(
      graph, [&graph, session_args...] { return OwnedSession::make<S>(graph, session_args...); }, std::move(options));
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/chief_session_creator.ipp>
#endif
