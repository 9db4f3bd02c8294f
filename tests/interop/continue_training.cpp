// SPDX-License-Identifier: Apache-2.0
/// @file
/// Trains the model of the quickstart for some steps, from initial values or a checkpoint of anybody, on batches that
/// need no shuffling to agree on.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <trainhook/engine.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/hooks/hooks.hpp>
#include <trainhook/media/mnist.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

int main(int argc, char** argv) {
  std::string restore;
  std::string save;
  std::string profile;
  std::string dtype = "float32";
  std::int64_t first_step = 0;
  std::int64_t steps = 100;
  CLI::App app("Step s trains on rows 128 s to 128 s + 127 of Fashion-MNIST's training images.");
  app.add_option("--restore", restore, "prefix of the checkpoint to begin with");
  app.add_option("--save", save, "path of the checkpoint to end with, without step")->required();
  app.add_option("--first-step", first_step, "steps that the checkpoint has behind it");
  app.add_option("--steps", steps, "steps to train");
  app.add_option("--profile", profile, "directory for a profile of every second step");
  app.add_option("--dtype", dtype, "of the model and of all that trains it")
      ->check(CLI::IsMember({"float32", "float64"}));
  CLI11_PARSE(app, argc, argv);
  try {
    th::Graph graph;
    const th::Dataset rows =
        th::fashion_mnist(th::fashion_mnist_directory(), th::Split::Train).skip(first_step * 128).batch(128);
    auto [images, labels] = th::make_iterator(graph, rows).get_next<2>();
    const th::Variable global_step = th::get_or_create_global_step(graph);
    const th::Output pixels = th::cast(images, dtype == "float64" ? th::DType::Double : th::DType::Float);
    const th::Output logits = th::dense(th::relu(th::dense(pixels, 128, "hidden")), 10, "logits");
    const th::Output loss = th::reduce_mean(th::sparse_softmax_cross_entropy_with_logits(labels, logits));
    const th::Operation train = th::AdamOptimizer({.learning_rate = 1e-3}).minimize(loss, global_step);

    auto creator = std::make_shared<th::ChiefSessionCreator>(
        graph, [&] { return th::OwnedSession::make<th::EigenSession>(graph); },
        th::ChiefSessionCreatorOptions{.checkpoint_filename_with_path = restore});
    th::HookList hooks;
    if (!profile.empty()) hooks.push_back(th::ProfilerHook({.save_steps = 2, .output_dir = profile}));
    th::MonitoredSession<th::EigenSession> session(std::move(creator), {.hooks = std::move(hooks)});
    for (std::int64_t i = 0; i < steps; ++i) session.run(train);
    th::Saver().save(session.raw_session(), {.save_path = save, .global_step = first_step + steps});
    session.close();
  } catch (const std::exception& error) {
    fmt::print(stderr, "continue_training: {}\n", error.what());
    return 1;
  }
}
