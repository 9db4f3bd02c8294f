// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointTarget: where a model is saved, how often, and by which task of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>

namespace trainhook {

/// What a hook needs to know of the program that saves the model. An Estimator converts to it.
struct CheckpointTarget {
  std::string checkpoint_dir{};
  OptionalDuration save_secs{};  ///< at most one of the two periods
  std::optional<std::int64_t> save_steps{};
  std::string task_type = "worker";
  std::int64_t task_id = 0;
  std::int64_t num_worker_replicas = 1;  ///< how many tasks train the model
};

}  // namespace trainhook
