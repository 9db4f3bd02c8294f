// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointTarget: where and how often a model is saved, and by which task of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>

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
