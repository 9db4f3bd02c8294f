// SPDX-License-Identifier: Apache-2.0
/// @file
/// A function that evaluates gives each metric a name.
// WRONG: a function that evaluates returns Metrics
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session =
      th::monitored_training_session(loop, {.hooks = {th::EvaluationHook([] { return 0.5F; }, {.every_n_steps = 10})}});
#else
  auto session = th::monitored_training_session(loop, {.hooks = {th::EvaluationHook(
                                                           [] {
                                                             return th::Metrics{{"loss", 0.5F}};
                                                           },
                                                           {.every_n_steps = 10})}});
#endif
}
