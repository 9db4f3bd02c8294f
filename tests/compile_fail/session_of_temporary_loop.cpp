// SPDX-License-Identifier: Apache-2.0
/// @file
/// A loop that is made in the call is gone after it.
// WRONG: the loop must outlive its session
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session = th::monitored_training_session(th::LoopSession());
  (void)loop;
#else
  auto session = th::monitored_training_session(loop);
#endif
}
