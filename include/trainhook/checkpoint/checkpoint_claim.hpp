// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointClaim: says which hook saves checkpoints into which directory, and what else is to be saved with each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// The collection that holds a `std::weak_ptr<CheckpointClaim>` for each saver hook since its `begin`.
inline constexpr std::string_view kCheckpointClaims = "checkpoint_claims";

/// State that has files of its own, which belong to the model's checkpoint of the same step.
class CheckpointCompanion {
 public:
  /// The two parts of one save, called on whichever thread writes the model, in the order that makes a kill in between
  /// harmless.
  struct Commit {
    std::function<void()> before_model{};  ///< writes what was taken; where it throws, the model is not saved either
    std::function<void()> after_model{};   ///< tidies up when the model's checkpoint is committed; must not throw
  };

  TRAINHOOK_DECL virtual ~CheckpointCompanion();

  /// Takes the state as of now, on the thread that runs the session.
  [[nodiscard]] virtual Commit take(SessionRef session, std::int64_t global_step) = 0;
};

/// Held by a saver hook from `begin` until its session ends, and with it the lock of the directory, so that no other
/// process saves there. Other hooks find it through the graph, and may add themselves to it.
struct CheckpointClaim {
  std::string directory{};
  std::string basename{};
  std::string hook{};  ///< what kind of hook it is
  std::vector<std::shared_ptr<CheckpointCompanion>> companions{};
  std::unique_ptr<FileLock> lock{};
};

/// The claims that are held right now, in the order they were made.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::shared_ptr<CheckpointClaim>> checkpoint_claims(const Graph& graph);

/// Takes the directory for one saver hook, creates it where it is missing, and removes what a writer that was killed
/// has left in it.
/// @throws InvalidArgumentError, naming both, where another hook of the graph holds it: two would overwrite each
/// other's list of checkpoints. FailedPreconditionError where another session or another process does.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<CheckpointClaim> claim_checkpoints(Graph& graph, FileSystem& file_system,
                                                                                CheckpointClaim wanted);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoint_claim.ipp>
#endif
