// SPDX-License-Identifier: Apache-2.0
/// @file
/// A value is a number, a string, or a range of numbers.
// WRONG: returns a number, a string or a range of numbers
#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  struct Loss {
    float value = 0;
  } loss;
  loop.value("loss", [&loss] { return loss; });
#else
  struct Loss {
    float value = 0;
  } loss;
  loop.value("loss", [&loss] { return loss.value; });
#endif
}
