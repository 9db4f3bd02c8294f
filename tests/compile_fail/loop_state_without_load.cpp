// SPDX-License-Identifier: Apache-2.0
/// @file
/// State that is saved by a function is loaded by another one.
// WRONG: a function that saves needs one that loads: use state(name, save, load)
#include <string>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  int epoch = 0;
  loop.state("epoch", [&epoch] { return std::to_string(epoch); });
#else
  int epoch = 0;
  loop.state(
      "epoch", [&epoch] { return std::to_string(epoch); },
      [&epoch](const std::string& saved) { epoch = std::stoi(saved); });
#endif
}
