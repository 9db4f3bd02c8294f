// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointClaim: says which hook saves checkpoints into which directory, and what else is to be saved with each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/bundle_cleanup.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// The collection that holds a `std::weak_ptr<CheckpointClaim>` for each saver hook since its `begin`.
inline constexpr std::string_view kCheckpointClaims = "checkpoint_claims";

/// State that has files of its own, which belong to the model's checkpoint of the same step.
class CheckpointCompanion {
 public:
  /// The two parts of one save, called on whichever thread writes the model, in the order that makes a kill in between harmless.
  struct Commit {
    std::function<void()> before_model{};  ///< writes what was taken; where it throws, the model is not saved either
    std::function<void()> after_model{};   ///< tidies up when the model's checkpoint is committed; must not throw
  };

  virtual ~CheckpointCompanion() = default;

  /// Takes the state as of now, on the thread that runs the session.
  [[nodiscard]] virtual Commit take(SessionRef session, std::int64_t global_step) = 0;
};

/// Held by a saver hook from `begin` until its session ends, and with it the lock of the directory, so that no other process saves there.
/// Other hooks find it through the graph, and may add themselves to it.
struct CheckpointClaim {
  std::string directory{};
  std::string basename{};
  std::string hook{};  ///< what kind of hook it is
  std::vector<std::shared_ptr<CheckpointCompanion>> companions{};
  std::unique_ptr<FileLock> lock{};
};

/// The claims that are held right now, in the order they were made.
[[nodiscard]] inline std::vector<std::shared_ptr<CheckpointClaim>> checkpoint_claims(const Graph& graph) {
  std::vector<std::shared_ptr<CheckpointClaim>> claims;
  for (const auto& entry : graph.collection<std::weak_ptr<CheckpointClaim>>(kCheckpointClaims)) {
    if (std::shared_ptr<CheckpointClaim> claim = entry.lock()) claims.push_back(std::move(claim));
  }
  return claims;
}

/// Takes the directory for one saver hook, creates it where it is missing, and removes what a writer that was killed has left in it.
/// @throws InvalidArgumentError, naming both, where another hook of the graph holds it: two would overwrite each other's list of
/// checkpoints. FailedPreconditionError where another session or another process does.
[[nodiscard]] inline std::shared_ptr<CheckpointClaim> claim_checkpoints(Graph& graph, FileSystem& file_system, CheckpointClaim wanted) {
  const std::string directory = detail::plain_path(wanted.directory);
  for (const std::shared_ptr<CheckpointClaim>& held : checkpoint_claims(graph)) {
    if (detail::plain_path(held->directory) != directory) continue;
    throw InvalidArgumentError(
        "two hooks save checkpoints into '", wanted.directory, "': ", held->hook, " (checkpoint_basename ", held->basename, ") and ",
        wanted.hook, " (checkpoint_basename ", wanted.basename,
        "); leave one out, or give it a checkpoint_dir of its own. A training session given save_checkpoint_steps or "
        "save_checkpoint_secs has one already");
  }
  file_system.make_directories(wanted.directory);
  wanted.lock = file_system.lock_file(join_path(wanted.directory, ".checkpoint_lock"));
  const std::size_t left = remove_stale_temporaries(file_system, wanted.directory).size();
  if (left > 0) log_info("Removed ", left, " temporary files from ", wanted.directory, " that a writer which was killed had left.");
  auto claim = std::make_shared<CheckpointClaim>(std::move(wanted));
  graph.add_to_collection(kCheckpointClaims, std::weak_ptr<CheckpointClaim>(claim));
  return claim;
}

}  // namespace trainhook
