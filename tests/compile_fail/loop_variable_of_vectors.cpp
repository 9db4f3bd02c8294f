// SPDX-License-Identifier: Apache-2.0
/// @file
/// A vector of vectors is not one piece of memory.
// WRONG: one vector for all rows
#include <vector>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  std::vector<std::vector<float>> weights(3, std::vector<float>(4));
  loop.variable("weights", weights);
#else
  std::vector<float> weights(12);
  loop.variable("weights", weights, {.shape = {3, 4}});
#endif
}
