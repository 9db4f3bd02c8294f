// SPDX-License-Identifier: Apache-2.0
/// @file
/// A callback with another parameter than the hook's, and without `override`, would never be called.
// WRONG: so it would never be called
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

// What clang warns of by itself.
#pragma GCC diagnostic ignored "-Woverloaded-virtual"

class CountRuns final : public th::SessionRunHook {
 public:
#ifdef WRONG
  void after_run(th::SessionRunContext&, th::SessionRunValues&) { ++runs_; }
#else
  void after_run(th::SessionRunContext&, const th::SessionRunValues&) { ++runs_; }
#endif

 private:
  int runs_ = 0;
};

void train(th::LoopSession& loop) { auto session = th::monitored_training_session(loop, {.hooks = {CountRuns()}}); }
