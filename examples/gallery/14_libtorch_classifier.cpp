// SPDX-License-Identifier: Apache-2.0
// 14 A classifier of LibTorch with dropout and batch norm, on Fashion-MNIST if it is installed (Debian's
// dataset-fashion-mnist), else on generated images. Two worker threads read ahead; the position that is saved counts
// the batches that were trained on. Needs Debian's libtorch-dev.
//
//     build/examples/gallery/14_libtorch_classifier [directory]

#include <cstdint>
#include <memory>
#include <string>

#include <fmt/core.h>
#include <torch/torch.h>
#include <trainhook/core/log.hpp>
#include <trainhook/hooks/exponential_moving_average_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/media.hpp>
#include <trainhook/torch.hpp>
#include <trainhook/trainhook.hpp>

#include "../synthetic_images.hpp"

namespace th = trainhook;

/// Images and labels as a data set of LibTorch.
struct Images : torch::data::BatchDataset<Images, torch::data::Example<>, c10::ArrayRef<std::size_t>> {
  Images() {
    th::Dataset examples = synthetic_images(6'000, 1);
    try {
      examples = th::fashion_mnist(th::Split::Train);
    } catch (const th::NotFoundError& error) { th::log_info("{}: using generated images instead", error.what()); }
    th::Element all;
    (void)examples.take(6'000).batch(6'000).make_iterator().next(all);
    pixels = th::libtorch::from_tensor(all[0]), labels = th::libtorch::from_tensor(all[1]);
  }
  torch::data::Example<> get_batch(c10::ArrayRef<std::size_t> indices) override {
    const torch::Tensor rows = torch::tensor(std::vector<std::int64_t>(indices.begin(), indices.end()));
    return {pixels.index_select(0, rows), labels.index_select(0, rows)};
  }
  torch::optional<std::size_t> size() const override { return labels.size(0); }

  torch::Tensor pixels, labels;
};

torch::nn::Sequential make_net() {
  namespace nn = torch::nn;
  return nn::Sequential(nn::Linear(784, 128), nn::BatchNorm1d(128), nn::ReLU(), nn::Dropout(0.3), nn::Linear(128, 10));
}

/// Trains up to `last_step`, and returns the share of examples that the averages of the parameters tell right.
double train(const std::string& directory, std::int64_t last_step) {
  torch::manual_seed(1);
  const Images images;
  torch::nn::Sequential net = make_net();
  torch::optim::AdamW adam(net->parameters(), torch::optim::AdamWOptions(2e-3));
  torch::Tensor loss;

  th::LoopSession loop;
  th::libtorch::add_module(loop, "net", *net);
  th::libtorch::add_optimizer(loop, "adam", adam, *net);
  th::libtorch::DataLoader loader(loop, "loader", images, {.batch = 64, .seed = 7},
                                  torch::data::DataLoaderOptions().workers(2));
  th::libtorch::add_generators(loop);  // dropout goes on where it was
  th::summary::scalar("loss", th::libtorch::add_value(loop, "loss", loss));

  double right = 0;
  auto averages = th::make_hook<th::ExponentialMovingAverageHook>({.decay = 0.95, .warm_up = true});
  const auto evaluate = [&](th::SessionRef) {
    const auto swapped = averages->use_averages();
    const torch::NoGradGuard no_grad;
    net->eval();
    right = net->forward(images.pixels).argmax(1).eq(images.labels).to(torch::kDouble).mean().item<double>();
  };

  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = 50,
             .save_summaries_steps = 10,
             .hooks = {th::StopAtStepHook({.last_step = last_step}), th::NanTensorHook("loss"), averages,
                       th::LambdaHook({.end = evaluate})}});
  th::run_until_stop(session, [&] {
    session.run([&] {
      const torch::data::Example<> batch = loader.next();
      adam.zero_grad();
      loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      adam.step();
    });
  });
  return right;
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "classifier-run";
  const double whole = train(directory + "/whole", 200);
  train(directory + "/pieces", 90);
  const double pieces = train(directory + "/pieces", 200);
  fmt::print("more than 0.7 of the examples are told right: {}\n", whole > 0.7 ? "yes" : "no");
  fmt::print("the same in two pieces: {}\n", whole == pieces ? "yes" : "no");
}
