// SPDX-License-Identifier: Apache-2.0
/// @file
/// A hook has options with names, because a number would not say what it counts.
// WRONG: say what the number counts
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session = th::monitored_training_session(loop, {.hooks = {th::StopAtStepHook(3)}});
#else
  auto session = th::monitored_training_session(loop, {.hooks = {th::StopAtStepHook({.last_step = 3})}});
#endif
}
