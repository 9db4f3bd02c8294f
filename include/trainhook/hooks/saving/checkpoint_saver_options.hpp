// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointSaverOptions: the options of the saver hooks. CheckpointTarget: whose checkpoints an input pipeline
/// follows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/core/duration.hpp>

namespace trainhook {

class CheckpointSaverListener;
class Saver;
class Scaffold;

/// What to do if a save is due while the previous one is still being written.
enum class SaveOverlap {
  Skip,     ///< saves as soon as the writer is free
  Wait,     ///< the loop waits until the writer is free
  Replace,  ///< the state is taken now and written next, in place of a save that waits already; as Wait as long as
            ///< other processes write a part of the one before
};

/// Set exactly one of `save_secs`, `save_steps` and `max_save_overhead`.
struct CheckpointSaverOptions {
  std::string checkpoint_dir{};  ///< empty: that of the session
  OptionalDuration save_secs{};
  std::optional<std::int64_t> save_steps{};
  std::optional<double> max_save_overhead{};  ///< saves as often as the loop waits at most this share of its time for
                                              ///< it, 0.01 for 1 %; measured, and first at once
  OptionalDuration shortest_save_period{};    ///< with `max_save_overhead`: never more often than this,
  OptionalDuration longest_save_period{};     ///< and after this time in any case
  std::shared_ptr<Saver> saver{};  ///< null: the scaffold's, or else the only one in the graph's collection `savers`
  std::string checkpoint_basename = "model.ckpt";
  std::shared_ptr<const Scaffold> scaffold{};  ///< set this or `saver`, not both
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners{};
  bool save_graph_def = true;               ///< if the session exports its graph, also writes `graph.pbtxt`, and a
                                            ///< `.meta` file with each checkpoint
  bool save_cost_summaries = false;         ///< also writes what each save cost as scalars `checkpoint/...`
  bool save_command_line = true;            ///< also writes the program's arguments to `run.pbtxt`, for the user only
  bool align_steps = false;                 ///< saves at multiples of `save_steps`, wherever training was interrupted
  bool save_on_exception = false;           ///< also saves the last step if the session ends by an error that leaves
                                            ///< the model whole, as one of a hook or between two runs does; hooks that
                                            ///< have not heard of that step are saved as they were before it
  int tolerated_save_failures = 0;          ///< failed saves in a row that are only logged; one more fails the run, and
                                            ///< a failure of the last save, at the end, is always thrown
  SaveOverlap overlap = SaveOverlap::Skip;  ///< for AsyncCheckpointSaverHook
  DirectoryLock directory_lock = DirectoryLock::Auto;  ///< locks `checkpoint_dir` against other processes
};

}  // namespace trainhook

namespace trainhook::detail {

/// What a hook needs to know about the program that saves the model. An Estimator converts to it.
struct CheckpointTarget {
  std::string checkpoint_dir{};
  OptionalDuration save_secs{};  ///< at most one of the two periods
  std::optional<std::int64_t> save_steps{};
  std::string task_type = "worker";
  std::int64_t task_id = 0;
  std::int64_t num_worker_replicas = 1;  ///< the number of tasks that train the model
};

}  // namespace trainhook::detail
