// SPDX-License-Identifier: Apache-2.0
/// @file
/// A hook of a class that still has a pure function cannot be made.
// WRONG: still has a pure virtual function
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

class Report : public th::SessionRunHook {
 public:
  virtual void report() = 0;
};

class PrintReport final : public Report {
 public:
  void report() override {}
};

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session = th::monitored_training_session(loop, {.hooks = {th::make_hook<Report>()}});
#else
  auto session = th::monitored_training_session(loop, {.hooks = {th::make_hook<PrintReport>()}});
#endif
}
