// SPDX-License-Identifier: Apache-2.0
/// @file
/// RunConfig: where and how often an Estimator saves, and its task in a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>

namespace trainhook {

class Clock;
class FileSystem;

/// Source: TensorFlow's `RunConfig`. A period of 0 turns the feature off.
struct RunConfig {
  std::string model_dir{};          ///< for checkpoints and events of training; empty: a temporary one
  std::int64_t tf_random_seed = 1;  ///< of every graph that the estimator creates
  std::int64_t save_summary_steps = 100;
  OptionalDuration save_checkpoints_secs{};  ///< if neither period is given: every 600 s
  std::optional<std::int64_t> save_checkpoints_steps{};
  int keep_checkpoint_max = 5;                    ///< 0 keeps all
  double keep_checkpoint_every_n_hours = 10'000;  ///< keeps the first one of each so many hours permanently
  bool save_command_line = true;                  ///< also writes the program's arguments to `run.pbtxt`
  std::int64_t log_step_count_steps = 100;        ///< the period of logging loss and steps per second
  std::string task_type = "worker";               ///< "chief", "worker" or "evaluator"
  std::int64_t task_id = 0;
  std::int64_t num_worker_replicas = 1;  ///< the number of training tasks, including the chief
  FileSystem* file_system = nullptr;     ///< null: the disk; must outlive the estimator
  Clock* clock = nullptr;                ///< null: the system's clock; must outlive the estimator

  /// True if this task saves the model: it is the only one, or the chief.
  [[nodiscard]] bool is_chief() const noexcept { return num_worker_replicas <= 1 || task_type == "chief"; }
};

}  // namespace trainhook
