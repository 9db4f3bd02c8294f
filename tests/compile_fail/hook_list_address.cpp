// SPDX-License-Identifier: Apache-2.0
/// @file
/// The address of a hook does not keep it.
// WRONG: a list does not keep what an address points to
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
#ifdef WRONG
  th::StopAtStepHook hook({.last_step = 3});
  auto session = th::monitored_training_session(loop, {.hooks = {&hook}});
#else
  auto hook = th::make_hook<th::StopAtStepHook>({.last_step = 3});
  auto session = th::monitored_training_session(loop, {.hooks = {hook}});
#endif
}
