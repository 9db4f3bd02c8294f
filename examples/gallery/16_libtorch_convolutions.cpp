// SPDX-License-Identifier: Apache-2.0
// 16 A convolutional net of LibTorch in bfloat16 and channels-last memory. A checkpoint has the values in row-major
// order; a restore writes them where the tensors are, so that they stay as they lie. Needs Debian's libtorch-dev.
//
//     build/examples/gallery/16_libtorch_convolutions [directory]

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <torch/torch.h>
#include <trainhook/torch.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

torch::nn::Sequential make_net() {
  namespace nn = torch::nn;
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                     nn::Conv2d(nn::Conv2dOptions(8, 8, 3).padding(1)), nn::ReLU(), nn::AdaptiveAvgPool2d(1),
                     nn::Flatten(), nn::Linear(8, 2));
  net->to(torch::kBFloat16);
  for (torch::Tensor& one : net->parameters()) {
    if (one.dim() == 4) one.set_data(one.contiguous(torch::MemoryFormat::ChannelsLast));
  }
  return net;
}

/// Trains up to `last_step`, and returns the share of images that are told right.
double train(const std::string& directory, std::int64_t last_step) {
  torch::manual_seed(1);
  const torch::Tensor labels = torch::randint(2, {400}, torch::kLong);  // stripes across or along, under noise
  const torch::Tensor along = torch::arange(12).remainder(2).to(torch::kFloat).expand({12, 12});
  const torch::Tensor stripes = torch::stack({along, along.t()}).index_select(0, labels).unsqueeze(1);
  const torch::Tensor images = (stripes + torch::randn({400, 1, 12, 12})).to(torch::kBFloat16);
  torch::nn::Sequential net = make_net();
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  torch::Tensor loss;

  th::LoopSession loop;
  th::libtorch::add_module(loop, "net", *net);
  th::libtorch::add_optimizer(loop, "sgd", sgd, *net);
  th::libtorch::Sampler sampler(loop, "sampler", images.size(0), {.batch = 32, .seed = 7});
  th::libtorch::add_value(loop, "loss", loss);

  auto session = th::monitored_training_session(loop, {.checkpoint_dir = directory,
                                                       .save_checkpoint_steps = 50,
                                                       .hooks = {th::StopAtStepHook({.last_step = last_step})}});
  th::run_until_stop(session, [&] {
    session.run([&] {
      const torch::Tensor rows = sampler.next();
      sgd.zero_grad();
      const torch::Tensor scores =
          net->forward(images.index_select(0, rows).contiguous(torch::MemoryFormat::ChannelsLast));
      loss = torch::nn::functional::cross_entropy(scores.to(torch::kFloat), labels.index_select(0, rows));
      loss.backward();
      sgd.step();
    });
  });
  const bool stays = net->parameters().front().is_contiguous(torch::MemoryFormat::ChannelsLast);
  fmt::print("{} steps, still channels-last: {}\n", loop.global_step(), stays ? "yes" : "no");
  const torch::NoGradGuard no_grad;
  return net->forward(images).argmax(1).eq(labels).to(torch::kDouble).mean().item<double>();
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "convolutions-run";
  const double whole = train(directory + "/whole", 200);
  train(directory + "/pieces", 90);
  const double pieces = train(directory + "/pieces", 200);
  fmt::print("more than 0.9 of the images are told right: {}\n", whole > 0.9 ? "yes" : "no");
  fmt::print("the same in two pieces: {}\n", whole == pieces ? "yes" : "no");
}
