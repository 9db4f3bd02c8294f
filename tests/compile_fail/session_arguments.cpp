// SPDX-License-Identifier: Apache-2.0
/// @file
/// Braces with a wrong option fit no parameter; a path is no rule for restoring, a value no step, and a shape an
/// option.
// WRONG: write MonitoredTrainingSessionOptions options{
// WRONG: a path is .restore = trainhook::RestoreRules{.from = path}
// WRONG: write session.run([&] { loss = ...; })
// WRONG: write loop.variable(name, memory, {.shape = {2, 3}})
#include <vector>

#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

#ifdef WRONG
auto misspelt(th::LoopSession& loop) {
  return th::monitored_training_session(loop, {.checkpoint_dir = "run", .save_checkpoints_steps = 5});
}
auto restored(th::LoopSession& loop) { return th::monitored_training_session(loop, {.restore = "other/model.ckpt-7"}); }
#else
auto misspelt(th::LoopSession& loop) {
  return th::monitored_training_session(loop, {.checkpoint_dir = "run", .save_checkpoint_steps = 5});
}
auto restored(th::LoopSession& loop) {
  return th::monitored_training_session(loop, {.restore = th::RestoreRules{.from = "other/model.ckpt-7"}});
}
#endif

void train(th::LoopSession& loop, th::MonitoredSession<th::LoopSession>& session, std::vector<float>& weights) {
  double loss = 0;
#ifdef WRONG
  session.run(loss);
  loop.variable("weights", weights, {2, 3});
#else
  session.run([&] { loss = weights[0]; });
  loop.variable("weights", weights, {.shape = {2, 3}});
#endif
}
