// SPDX-License-Identifier: Apache-2.0
/// @file
/// BestCheckpointOptions: which checkpoints a BestCheckpointHook keeps, and where.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <trainhook/hooks/metric_watch.hpp>

namespace trainhook {

/// A checkpoint that is kept because of its metric.
struct BestCheckpoint {
  std::int64_t step = 0;
  double value = 0;
  std::string prefix{};
};

struct BestCheckpointOptions {
  std::string metric = "eval/loss";
  Better better = Better::Lower;
  int keep = 1;              ///< the number of checkpoints; at least 1
  std::int64_t from_step{};  ///< values of earlier steps are ignored
  std::string directory{};   ///< empty: `best` in the directory of the hook that saves the model, or else the session's
  std::function<void(const BestCheckpoint&)> on_best{};  ///< called with one that is saved and is the best so far
};

}  // namespace trainhook
