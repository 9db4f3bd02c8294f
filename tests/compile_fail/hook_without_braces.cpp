// SPDX-License-Identifier: Apache-2.0
/// @file
/// One hook needs no braces, and is not copied by accident either.
// WRONG: write std::move(hook), or give it a std::shared_ptr
#include <utility>

#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
  th::StopAtStepHook hook({.last_step = 3});
#ifdef WRONG
  auto session = th::monitored_training_session(loop, {.hooks = hook});
#else
  auto session = th::monitored_training_session(loop, {.hooks = std::move(hook)});
#endif
}
