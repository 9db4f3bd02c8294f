// SPDX-License-Identifier: Apache-2.0
/// @file
/// A hook with a name is not copied by accident.
// WRONG: write std::move(hook), or give it a std::shared_ptr
#include <memory>
#include <utility>

#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
#ifdef WRONG
  th::StopAtStepHook hook({.last_step = 3});
  auto session = th::monitored_training_session(loop, {.hooks = {hook}});
#else
  th::StopAtStepHook hook({.last_step = 3});
  auto session = th::monitored_training_session(loop, {.hooks = {std::move(hook)}});
#endif
}
