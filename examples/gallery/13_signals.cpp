// SPDX-License-Identifier: Apache-2.0
// 13 Ctrl-C. A signal ends the run after its present step, with a checkpoint; SIGUSR1 saves one and goes on; files
// named `stop` and `save` do the same for those who cannot send signals. The process remembers the stop, so that a loop
// of sessions can ask for it. Here the program sends its signals to itself.
//
//     build/examples/gallery/13_signals [directory]

#include <csignal>
#include <cstdint>
#include <string>

#include <fmt/core.h>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

void train(const std::string& directory, std::int64_t save_at, std::int64_t stop_at) {
  double weight = 0;
  th::LoopSession loop;
  loop.variable("weight", weight);

  auto session = th::monitored_training_session(
      loop,
      {.checkpoint_dir = directory,  // saves every ten minutes, unless something else is asked for
       .hooks = {
           th::StopAtStepHook({.last_step = 500}),
           th::SignalHook({.stop_signals = {SIGINT, SIGTERM}, .save_signals = {SIGUSR1}, .directory = directory})}});
  th::run_until_stop(session, [&] {
    session.run([&] {
      weight += 0.01 * (1 - weight);
      if (loop.global_step() == save_at) std::raise(SIGUSR1);
      if (loop.global_step() == stop_at) std::raise(SIGTERM);
    });
  });
  fmt::print("step {}, weight {:.4f}: {}\n", loop.global_step(), weight, session.why_it_ended());
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "signals-run";
  train(directory, 100, 250);
  const auto saved = th::get_checkpoint_state(directory);
  for (const std::string& prefix : saved->all_model_checkpoint_paths) fmt::print("{}\n", prefix);
  fmt::print("interrupted by {}\n", th::interruption().value_or("nothing"));
  th::forget_interruption();  // what ends a process ends its sessions, unless it says otherwise
  train(directory, 0, 0);     // goes on where the first was stopped, as the next process would
}
