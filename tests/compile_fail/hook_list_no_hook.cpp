// SPDX-License-Identifier: Apache-2.0
/// @file
/// The compiler names what is not a hook.
// WRONG: a list of hooks has something in it that is not derived from trainhook::SessionRunHook
#include <memory>
#include <utility>

#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

struct NotAHook {};

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session = th::monitored_training_session(loop, {.hooks = {NotAHook()}});
#else
  auto session = th::monitored_training_session(loop, {.hooks = {th::StopAtStepHook({.last_step = 3})}});
#endif
}
