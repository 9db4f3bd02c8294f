// SPDX-License-Identifier: Apache-2.0
/// @file
/// A training step with one thread and with as many as there are processors, each beside TensorFlow with as many.
#pragma once

#include <string>
#include <vector>

#include <trainhook/engine/kernel_threads.hpp>

#include "record.hpp"

namespace trainhook::bench {

/// Reports `<name>_tensorflow`, `<name>_tensorflow_threads` and `<name>_threads`. `one` and `all` measure milliseconds.
template <class Measure>
void report_threads(const std::string& name, int rounds, const Measure& one, const Measure& all) {
  TensorFlow tensorflow(name);
  TensorFlow tensorflow_all(name, "TRAINHOOK_BENCH_PEERS_ALL_THREADS");
  std::vector<double> times;
  std::vector<double> times_of_all;
  for (int round = 0; round < rounds; ++round) {  // by turns, so that whatever else the machine does meets all
    times.push_back(one());
    tensorflow.measure();
    times_of_all.push_back(all());
    tensorflow_all.measure();
  }
  tensorflow.report({.name = name + "_tensorflow", .ours = median(times), .unit = "ms", .goal = 1});
  tensorflow_all.report(
      {.name = name + "_tensorflow_threads", .ours = median(times_of_all), .unit = "ms", .goal = 0.95});
  if (detail::usable_processors() < 2) return;
  report({.name = name + "_threads",
          .ours = median(times) / median(times_of_all),
          .peer = 1,
          .peer_name = "one thread",
          .unit = "times",
          .goal = 1.7,
          .more_is_better = true});
}

}  // namespace trainhook::bench
