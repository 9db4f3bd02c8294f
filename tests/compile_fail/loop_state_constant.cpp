// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a restore sets cannot be constant.
// WRONG: or const
#include <random>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  const std::mt19937_64 noise(7);
  loop.state("noise", noise);
#else
  std::mt19937_64 noise(7);
  loop.state("noise", noise);
#endif
}
