// SPDX-License-Identifier: Apache-2.0
/// @file
/// Program own_hook of the README of version 0.1.0.
#include <memory>

#include <fmt/core.h>
#include <trainhook/trainhook.hpp>
namespace th = trainhook;

class StopBelow final : public th::SessionRunHook {
 public:
  StopBelow(th::Output loss, float target) : loss_(loss), target_(target) {}
  th::SessionRunArgs before_run(th::SessionRunContext&) override { return {loss_}; }  // joins the user's own run
  void after_run(th::SessionRunContext& context, const th::SessionRunValues& values) override {
    if (values.results[0].scalar<float>() < target_) context.request_stop();
  }

 private:
  th::Output loss_;
  float target_;
};

int main() {
  float loss = 1;
  th::LoopSession loop;
  const th::Output watched = loop.value("loss", [&] { return loss; });
  auto below = std::make_shared<StopBelow>(watched, 0.1F);  // shared: you can still look at it afterwards
  auto session =
      th::monitored_training_session(loop, {.hooks = {below, th::NanTensorHook(watched, {.fail_on_nan_loss = false})}});
  th::run_until_stop(session, [&] { session.run([&] { loss *= 0.5F; }); });  // the whole loop, and close()
  fmt::print("stopped at a loss of {:.4f}\n", loss);
}
