// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a restore sets cannot be constant.
// WRONG: and not const
#include <vector>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  const std::vector<float> weights(3);
  loop.variable("weights", weights);
#else
  std::vector<float> weights(3);
  loop.variable("weights", weights);
#endif
}
