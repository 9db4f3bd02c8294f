// SPDX-License-Identifier: Apache-2.0
/// @file
/// A value is computed after each step, so it is given by a function.
// WRONG: give it a function without parameters
#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  float loss = 0;
  loop.value("loss", loss);
#else
  float loss = 0;
  loop.value("loss", [&loss] { return loss; });
#endif
}
