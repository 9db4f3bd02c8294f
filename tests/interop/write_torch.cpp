// SPDX-License-Identifier: Apache-2.0
/// @file
/// Trains a small net of LibTorch and exports it for PyTorch: write_torch <directory> makes a run there with
/// model.safetensors beside it, and the net's input and output as input.npy and output.npy.

#include <cstdio>
#include <exception>
#include <string>

#include <fmt/core.h>
#include <torch/torch.h>

#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/exchange.hpp>
#include <trainhook/torch.hpp>
#include <trainhook/trainhook.hpp>

namespace {

namespace th = trainhook;

struct NetImpl : torch::nn::Module {
  torch::nn::Conv2d conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3).padding(1)));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(4));
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.2));
  torch::nn::LSTM lstm = register_module("lstm", torch::nn::LSTM(torch::nn::LSTMOptions(24, 8).batch_first(true)));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(8, 3));

  torch::Tensor forward(const torch::Tensor& images) {  // [batch, 1, 6, 6]: each row is a step of the LSTM
    const torch::Tensor seen = dropout(torch::relu(norm(conv(images))));
    const torch::Tensor rows = seen.permute({0, 2, 1, 3}).reshape({images.size(0), 6, 24});
    return last(std::get<0>(lstm(rows)).select(1, 5));
  }
};
TORCH_MODULE(Net);

void train(const std::string& directory) {
  torch::manual_seed(1);
  Net net;
  net->conv->weight.set_data(net->conv->weight.contiguous(torch::MemoryFormat::ChannelsLast));
  const torch::Tensor images = torch::randn({32, 1, 6, 6}), labels = torch::randint(3, {32}, torch::kLong);
  torch::optim::AdamW adam(net->parameters(), torch::optim::AdamWOptions(1e-2));

  th::LoopSession loop;
  th::libtorch::add_module(loop, "net", *net);
  th::libtorch::add_optimizer(loop, "adam", adam, *net);
  th::libtorch::add_generators(loop);
  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory + "/run", .hooks = {th::StopAtStepHook({.last_step = 20})}});
  th::run_until_stop(session, [&] {
    session.run([&] {
      adam.zero_grad();
      torch::nn::functional::cross_entropy(net->forward(images), labels).backward();
      adam.step();
    });
  });

  const torch::NoGradGuard no_grad;
  net->eval();
  th::write_npy(directory + "/input.npy", th::libtorch::to_tensor(images));
  th::write_npy(directory + "/output.npy", th::libtorch::to_tensor(net->forward(images)));
  th::write_safetensors(directory + "/model.safetensors", th::CheckpointReader(directory + "/run/model.ckpt-20"),
                        {.only = "net/", .rename = {{"net/", ""}}});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(argc > 1 ? argv[1] : ".");
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_torch: {}\n", error.what());
    return 1;
  }
}
