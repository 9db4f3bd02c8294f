// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointManager: manages the checkpoints of a directory, for loops without a MonitoredSession.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

struct CheckpointManagerOptions {
  std::optional<double> keep_checkpoint_every_n_hours{};  ///< keeps the first one of each so many hours permanently
  std::string checkpoint_name = "ckpt";
  std::string step_counter{};                         ///< the variable that counts steps, for example `global_step`
  std::optional<std::int64_t> checkpoint_interval{};  ///< the least number of steps between checkpoints
  std::function<void(SessionRef)> init_fn{};          ///< `restore_or_initialize` calls it if there is no checkpoint
  std::vector<std::string> var_list{};                ///< as in SaverOptions
  CheckpointFormat format = open_bundle;              ///< as in SaverOptions
  FileSystem* file_system = nullptr;                  ///< null: the default
  Clock* clock = nullptr;                             ///< null: the default
};

/// Saves into a directory, numbers the checkpoints, and keeps the newest. A new manager continues from the directory's
/// contents. It never removes checkpoints of other names, or those kept by `keep_checkpoint_every_n_hours`. Only one
/// manager may use a directory at a time. Source: `tf.train.CheckpointManager`.
class CheckpointManager {
 public:
  /// Keeps the `max_to_keep` newest checkpoints; without a number, all.
  /// @throws InvalidArgumentError for a `max_to_keep` below 1, or a `checkpoint_interval` without `step_counter`.
  TRAINHOOK_DECL CheckpointManager(std::string directory, std::optional<int> max_to_keep,
                                   CheckpointManagerOptions options = {});

  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  [[nodiscard]] std::optional<std::int64_t> checkpoint_interval() const noexcept {
    return options_.checkpoint_interval;
  }

  /// Saves as `<directory>/<checkpoint_name>-<checkpoint_number>`, by default with the highest number in the directory
  /// plus one. Returns the prefix, or nothing if this step is saved already or, with `check_interval`, if the last save
  /// was less than `checkpoint_interval` steps ago.
  /// @throws NotFoundError if the session has no variable `step_counter`; otherwise as `Saver::save`.
  TRAINHOOK_DECL std::optional<std::string> save(SessionRef session, std::optional<std::int64_t> checkpoint_number = {},
                                                 bool check_interval = true);

  /// The newest checkpoint of the directory, also of another writer.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> latest_checkpoint() const;

  /// The managed checkpoints, oldest first.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> checkpoints() const;

  /// Restores the newest undamaged checkpoint and returns its prefix. If there is no checkpoint, calls `init_fn` and
  /// returns nothing.
  /// @throws DataLossError if all are damaged; otherwise as `Saver::restore`.
  TRAINHOOK_DECL std::optional<std::string> restore_or_initialize(SessionRef session);

 private:
  [[nodiscard]] TRAINHOOK_DECL std::int64_t step_of(SessionRef session) const;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t next_number() const;
  [[nodiscard]] TRAINHOOK_DECL std::string save_path() const;

  std::string directory_;
  CheckpointManagerOptions options_;
  Saver saver_;
  std::optional<std::int64_t> last_checkpoint_step_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/checkpoint_manager.ipp>
#endif
