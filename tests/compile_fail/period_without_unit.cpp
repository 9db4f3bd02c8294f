// SPDX-License-Identifier: Apache-2.0
/// @file
/// A number of seconds without its unit is refused in words.
// WRONG: a length of time needs its unit: write std::chrono::seconds(60), or 60s with std::chrono_literals
#include <chrono>

#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session = th::monitored_training_session(loop, {.checkpoint_dir = "run", .save_checkpoint_secs = 60});
#else
  using namespace std::chrono_literals;
  auto session = th::monitored_training_session(loop, {.checkpoint_dir = "run", .save_checkpoint_secs = 60s});
#endif
}
