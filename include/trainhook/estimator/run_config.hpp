// SPDX-License-Identifier: Apache-2.0
/// @file
/// RunConfig: where and how often an Estimator saves, and which task of a job it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/clock.hpp>

namespace trainhook {

class FileSystem;

/// Source: TensorFlow's `RunConfig`. A period of 0 switches off what has it.
struct RunConfig {
  std::string model_dir{};          ///< checkpoints and events of training; must be given
  std::int64_t tf_random_seed = 1;  ///< of every graph that the estimator makes
  std::int64_t save_summary_steps = 100;
  OptionalDuration save_checkpoints_secs{};  ///< if neither period is given: every 600 s
  std::optional<std::int64_t> save_checkpoints_steps{};
  int keep_checkpoint_max = 5;                    ///< 0 keeps all
  double keep_checkpoint_every_n_hours = 10'000;  ///< of those to be removed, one in this many hours is kept
  std::int64_t log_step_count_steps = 100;        ///< how often loss and steps per second are logged
  std::string task_type = "worker";               ///< "chief", "worker" or "evaluator"
  std::int64_t task_id = 0;
  std::int64_t num_worker_replicas = 1;  ///< how many tasks train, the chief included
  FileSystem* file_system = nullptr;     ///< null: the machine's own
  Clock* clock = nullptr;                ///< null: the machine's own

  /// True if this task saves the model: the only one, or the chief of several.
  [[nodiscard]] bool is_chief() const noexcept { return num_worker_replicas <= 1 || task_type == "chief"; }
};

}  // namespace trainhook
