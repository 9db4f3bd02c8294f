// SPDX-License-Identifier: Apache-2.0
/// @file
/// A vector that is made in the call is gone after it.
// WRONG: give it a name that lives longer than the session
#include <vector>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  loop.variable("weights", std::vector<float>(3));
#else
  std::vector<float> weights(3);
  loop.variable("weights", weights);
#endif
}
