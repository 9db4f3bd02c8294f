// SPDX-License-Identifier: Apache-2.0
/// @file
/// A hook derives from SessionRunHook in public.
// WRONG: class MyHook : public trainhook::SessionRunHook
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

#ifdef WRONG
class CountRuns final : th::SessionRunHook {
#else
class CountRuns final : public th::SessionRunHook {
#endif
 public:
  void after_run(th::SessionRunContext&, const th::SessionRunValues&) override { ++runs_; }

 private:
  int runs_ = 0;
};

void train(th::LoopSession& loop) { auto session = th::monitored_training_session(loop, {.hooks = {CountRuns()}}); }
