// SPDX-License-Identifier: Apache-2.0
/// @file
/// A unique pointer to a hook is given away.
// WRONG: write std::move(hook)
#include <memory>
#include <utility>

#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto hook = std::make_unique<th::StopAtStepHook>(th::StopAtStepHook::Options{.last_step = 3});
  auto session = th::monitored_training_session(loop, {.hooks = {hook}});
#else
  auto hook = std::make_unique<th::StopAtStepHook>(th::StopAtStepHook::Options{.last_step = 3});
  auto session = th::monitored_training_session(loop, {.hooks = {std::move(hook)}});
#endif
}
