// SPDX-License-Identifier: Apache-2.0
/// @file
/// A step takes no argument.
// WRONG: a step is a function without parameters
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session = th::monitored_training_session(loop);
  session.run([](int step) { (void)step; });
#else
  auto session = th::monitored_training_session(loop);
  session.run([] {});
#endif
}
