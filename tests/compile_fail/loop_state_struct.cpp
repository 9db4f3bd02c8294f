// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bytes of an object with a string in it are not its value.
// WRONG: write visit_state(visit, object) for a struct
#include <string>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

struct Progress {
  int epoch = 0;
  std::string phase;
};
#ifndef WRONG
void visit_state(const auto& visit, Progress& progress) {
  visit("epoch", progress.epoch);
  visit("phase", progress.phase);
}
#endif

void bind(th::LoopSession& loop) {
  Progress progress;
  loop.state("progress", progress);
}
