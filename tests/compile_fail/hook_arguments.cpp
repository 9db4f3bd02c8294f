// SPDX-License-Identifier: Apache-2.0
/// @file
/// A hook fetches by name, because a value is another after each step; a period has a unit.
// WRONG: fetched is what has a name, not a value
// WRONG: say what the number counts: LoggingTensorHook(tensors, {.every_n_iter = 100})
// WRONG: say when to evaluate: EvaluationHook(evaluate, {.every_n_steps = 100})
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>

namespace th = trainhook;

th::Metrics evaluate();

void make_hooks() {
#ifdef WRONG
  const float loss = 0.5F;
  const th::NanTensorHook checks(loss);
  const th::LoggingTensorHook logs({"loss"}, 100);
  const th::EvaluationHook evaluates(evaluate);
#else
  const th::NanTensorHook checks("loss");
  const th::LoggingTensorHook logs({"loss"}, {.every_n_iter = 100});
  const th::EvaluationHook evaluates(evaluate, {.every_n_steps = 100});
#endif
}
