// SPDX-License-Identifier: Apache-2.0
/// @file
/// A function of a LambdaHook has the parameters of its callback.
// WRONG: has other parameters, or another result, than its callback
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session = th::monitored_training_session(
      loop, {.hooks = {th::LambdaHook({.after_run = [](const th::SessionRunValues&) {}})}});
#else
  auto session = th::monitored_training_session(
      loop, {.hooks = {th::LambdaHook({.after_run = [](auto&, const th::SessionRunValues&) {}})}});
#endif
}
