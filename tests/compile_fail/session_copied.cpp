// SPDX-License-Identifier: Apache-2.0
/// @file
/// A session cannot be copied.
// WRONG: give it away with std::move(session)
#include <utility>

#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void run_all(th::MonitoredSession<th::LoopSession> session);

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session = th::monitored_training_session(loop);
  run_all(session);
#else
  auto session = th::monitored_training_session(loop);
  run_all(std::move(session));
#endif
}
