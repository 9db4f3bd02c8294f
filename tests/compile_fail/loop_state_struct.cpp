// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bytes of an object with a string in it are not its value.
// WRONG: use state(name, save, load)
#include <string>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

struct Progress {
  int epoch = 0;
  std::string phase;
};

void bind(th::LoopSession& loop) {
#ifdef WRONG
  Progress progress;
  loop.state("progress", progress);
#else
  Progress progress;
  loop.state("progress", progress.epoch);
  loop.state("phase", progress.phase);
#endif
}
