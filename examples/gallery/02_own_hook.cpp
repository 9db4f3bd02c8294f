// SPDX-License-Identifier: Apache-2.0
// 02 A hook of your own. It fetches the loss of each step, reports the best one every 100 steps, and stops the run.
// Its state and its timer are in the checkpoint: a run that is stopped and started again reports at the same steps.
//
//     build/examples/gallery/02_own_hook [directory]

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

/// Reports the lowest loss so far, and stops the run when it is below `target`.
class BestLossHook final : public th::SessionRunHook {
 public:
  BestLossHook(th::Output loss, double target) : loss_(loss), target_(target) {}

  th::SessionRunArgs before_run(th::SessionRunContext&) override { return {loss_}; }  // joins the run of the loop

  void after_run(th::SessionRunContext& context, const th::SessionRunValues& values) override {
    best_ = std::min(best_, values.results[0].scalar<double>());
    const std::int64_t step = context.global_step();
    if (timer_.trigger_if_due(step, context)) fmt::print("step {}: best loss {:.4f}\n", step, best_);
    if (best_ < target_) context.request_stop(fmt::format("the loss is below {}", target_));
  }

  th::StateValues save_state() override {
    th::StateValues state;
    state.set("best", th::Tensor(best_));
    return state;
  }
  void load_state(const th::StateValues& state) override { best_ = state.at("best").scalar<double>(); }

 private:
  th::Output loss_;
  double target_;
  double best_ = std::numeric_limits<double>::infinity();
  th::SecondOrStepTimer timer_{*this, {.every_steps = 100}};  // made with *this: saved with the hook's state
};

void train(const std::string& directory, std::int64_t last_step) {
  double time = 0;
  th::LoopSession loop;
  loop.variable("time", time);
  const th::Output loss = loop.value("loss", [&] { return 1 + std::cos(time) / (1 + 0.1 * time); });

  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = 50,
             .hooks = {th::StopAtStepHook({.last_step = last_step}), BestLossHook(loss, 0.3)}});
  th::run_until_stop(session, [&] { session.run([&] { time += 0.01; }); });
  fmt::print("stopped at step {}: {}\n", loop.global_step(), session.why_it_ended());
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "own-hook-run";
  train(directory, 170);
  train(directory, 1'000);
}
