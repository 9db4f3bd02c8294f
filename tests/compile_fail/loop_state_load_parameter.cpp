// SPDX-License-Identifier: Apache-2.0
/// @file
/// A function that loads takes what the other one returns.
// WRONG: load takes what save returns
#include <string>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  int epoch = 0;
  loop.state(
      "epoch", [&epoch] { return std::to_string(epoch); }, [&epoch](int saved) { epoch = saved; });
#else
  int epoch = 0;
  loop.state(
      "epoch", [&epoch] { return std::to_string(epoch); },
      [&epoch](const std::string& saved) { epoch = std::stoi(saved); });
#endif
}
