// SPDX-License-Identifier: Apache-2.0
// 15 An LSTM of LibTorch that learns to continue a wave. Its schedule halves the rate as it goes; the state that the
// LSTM carries from batch to batch is the loop's, too, so that a run in two pieces ends with the same bits. Needs
// Debian's libtorch-dev.
//
//     build/examples/gallery/15_libtorch_lstm [directory]

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include <fmt/core.h>
#include <torch/torch.h>
#include <trainhook/torch.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

struct ForecasterImpl : torch::nn::Module {
  torch::nn::LSTM lstm = register_module("lstm", torch::nn::LSTM(torch::nn::LSTMOptions(1, 16).num_layers(2)));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(16, 1));
  torch::Tensor hidden = register_buffer("hidden", torch::zeros({2, 1, 16}));  // carried from batch to batch
  torch::Tensor cell = register_buffer("cell", torch::zeros({2, 1, 16}));

  torch::Tensor forward(const torch::Tensor& wave) {
    auto [out, state] = lstm(wave, std::tuple(hidden.clone(), cell.clone()));
    hidden.copy_(std::get<0>(state).detach()), cell.copy_(std::get<1>(state).detach());
    return last(out);
  }
};
TORCH_MODULE(Forecaster);

/// Trains up to `last_step`, and returns the last loss.
double train(const std::string& directory, std::int64_t last_step) {
  torch::manual_seed(1);
  Forecaster net;
  torch::optim::RMSprop rmsprop(net->parameters(), torch::optim::RMSpropOptions(1e-2).momentum(0.5));
  torch::optim::StepLR schedule(rmsprop, 50, 0.5);
  torch::Tensor loss = torch::zeros({});

  th::LoopSession loop;
  th::libtorch::add_module(loop, "net", *net);
  th::libtorch::add_optimizer(loop, "rmsprop", rmsprop, *net);
  th::libtorch::add_state(loop, "schedule", schedule);
  th::libtorch::add_tensor(loop, "last_loss", loss);
  th::libtorch::add_value(loop, "loss", loss);
  th::libtorch::add_histograms(loop, "parameters", *net);

  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = 50,
             .save_summaries_steps = 25,
             .hooks = {th::StopAtStepHook({.last_step = last_step}), th::NanTensorHook("loss")}});
  th::run_until_stop(session, [&] {
    session.run([&] {
      const double begin = 20.0 * static_cast<double>(loop.global_step());  // the next 20 moments of an endless wave
      const torch::Tensor wave = torch::arange(begin, begin + 21).mul(0.3).sin().to(torch::kFloat).reshape({21, 1, 1});
      rmsprop.zero_grad();
      const torch::Tensor error = torch::mse_loss(net->forward(wave.slice(0, 0, 20)), wave.slice(0, 1, 21));
      error.backward();
      rmsprop.step();
      schedule.step();
      loss.copy_(error.detach());
    });
  });
  return loss.item<double>();
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "lstm-run";
  const double whole = train(directory + "/whole", 200);
  train(directory + "/pieces", 90);
  const double pieces = train(directory + "/pieces", 200);
  fmt::print("the wave is known to 0.02: {}\n", whole < 0.02 ? "yes" : "no");
  fmt::print("the same bits: {}\n", whole == pieces ? "yes" : "no");
}
