// SPDX-License-Identifier: Apache-2.0
/// @file
/// A generator that is made in the call is gone after it.
// WRONG: give it a name that lives longer than the session
#include <random>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  loop.state("noise", std::mt19937_64(7));
#else
  std::mt19937_64 noise(7);
  loop.state("noise", noise);
#endif
}
