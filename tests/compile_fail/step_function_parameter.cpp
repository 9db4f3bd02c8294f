// SPDX-License-Identifier: Apache-2.0
/// @file
/// A step function takes the context of its step.
// WRONG: a step function gets a StepContext
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace th = trainhook;

void train(th::MonitoredSession<th::testing::ScriptedSession>& session) {
#ifdef WRONG
  session.run_step_fn([](th::SessionRef) {});
#else
  session.run_step_fn([](th::StepContext<th::testing::ScriptedSession>&) {});
#endif
}
