// SPDX-License-Identifier: Apache-2.0
/// @file
/// BestCheckpointOptions: which checkpoints a BestCheckpointHook keeps, and where.
#pragma once

#include <cstdint>
#include <string>

#include <trainhook/hooks/metric_watch.hpp>

namespace trainhook {

struct BestCheckpointOptions {
  std::string metric = "eval/loss";
  Better better = Better::Lower;
  int keep = 1;              ///< the number of checkpoints; at least 1
  std::int64_t from_step{};  ///< values of earlier steps are ignored
  std::string directory{};   ///< empty: `best` in the directory of the only hook that saves the model
};

/// A checkpoint that is kept because of its metric.
struct BestCheckpoint {
  std::int64_t step = 0;
  double value = 0;
  std::string prefix{};
};

}  // namespace trainhook
