// SPDX-License-Identifier: Apache-2.0
// The main job: train a classifier, be killed at any moment, start again, end with the same bits.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <trainhook/engine.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/media/mnist.hpp>
#include <trainhook/trainhook.hpp>

#include "synthetic_images.hpp"

namespace th = trainhook;
using namespace std::chrono_literals;

namespace {

struct Arguments {
  std::string model_dir = "quickstart-run";
  std::int64_t steps = 3000;
  std::uint64_t seed = 1;
  std::string data = "fashion-mnist";
  std::int64_t save_steps = 200;
  bool sync = false;
  bool fresh = false;
};

constexpr std::int64_t kBatchSize = 128;

/// A hook of our own: a checksum over every batch so far. Its state is kept in the checkpoint, so that a run that was
/// killed and one that never was end with the same number only if they have seen the same batches.
class BatchFingerprint final : public th::SessionRunHook {
 public:
  BatchFingerprint(th::Output images, th::Output labels) : images_(images), labels_(labels) {}
  th::SessionRunArgs before_run(th::SessionRunContext&) override { return {{images_, labels_}}; }
  void after_run(th::SessionRunContext&, const th::SessionRunValues& values) override {
    for (const th::Tensor& batch : values.results) crc_ = th::crc32c::extend(crc_, batch.bytes());
  }
  th::StateValues save_state() override {
    th::StateValues state;
    state.set("crc", th::Tensor(std::int64_t{crc_}));
    return state;
  }
  void load_state(const th::StateValues& state) override {
    crc_ = static_cast<std::uint32_t>(state.at("crc").scalar<std::int64_t>());
  }
  [[nodiscard]] std::string name() const override { return "BatchFingerprint"; }

 private:
  th::Output images_, labels_;
  std::uint32_t crc_ = 0;
};

/// Removes what an earlier run left; other files stay.
void remove_run(const std::string& directory) {
  th::FileSystem& disk = th::posix_file_system();
  if (!disk.is_directory(directory)) return;
  for (const std::string& name : disk.list_directory(directory)) {
    for (const char* start : {"checkpoint", "model.ckpt", "input.ckpt", "graph.pbtxt", "events.out.tfevents."}) {
      if (name.starts_with(start)) disk.remove_file(th::join_path(directory, name));
    }
  }
}

struct Data {
  std::string name;
  th::Dataset train;
  th::Element test;  // all images and all labels
};

Data load_data(const Arguments& arguments) {
  const auto all_of = [](const th::Dataset& dataset) {
    th::Element element;
    if (!dataset.batch(10'000).make_iterator().next(element)) throw th::InvalidArgumentError("the data set is empty");
    return element;
  };
  if (arguments.data == "fashion-mnist") {
    try {
      const std::string directory = th::fashion_mnist_directory();
      return {"fashion-mnist", th::fashion_mnist(directory, th::Split::Train),
              all_of(th::fashion_mnist(directory, th::Split::Test))};
    } catch (const th::NotFoundError& error) {
      fmt::print(stderr, "{}\nusing synthetic images instead\n", error.what());
    }
  }
  return {"synthetic", synthetic_images(60'000, 1), all_of(synthetic_images(10'000, 2))};
}

struct Model {
  th::Output images, labels, loss, accuracy;
  th::Operation train;
  th::Variable global_step;
};

/// 16 images as one picture of four by four.
th::Output image_grid(th::Output images) {
  const th::Output tiles =
      th::transpose(th::reshape(th::slice(images, {0, 0}, {16, 784}), {4, 4, 28, 28}), {0, 2, 1, 3});
  return th::reshape(tiles, {1, 112, 112, 1});
}

Model build_model(th::Graph& graph, const th::Dataset& train, std::uint64_t seed) {
  graph.set_random_seed(static_cast<std::int64_t>(seed));
  auto [next_images, next_labels] =
      th::make_iterator(graph, train.shuffle(10'000, seed).repeat().batch(kBatchSize), "batches").get_next<2>();

  Model model;
  model.images = th::placeholder_with_default(next_images, {th::kUnknownDim, 784},
                                              "images");  // fed with the test images at the end
  model.labels = th::placeholder_with_default(next_labels, {th::kUnknownDim}, "labels");
  model.global_step = th::get_or_create_global_step(graph);

  const th::Output hidden = th::relu(th::dense(model.images, 128, "hidden"));
  const th::Output logits = th::dense(hidden, 10, "logits");
  model.loss = th::reduce_mean(th::sparse_softmax_cross_entropy_with_logits(model.labels, logits)).named("loss");
  const th::Output rate = th::exponential_decay(2e-3, model.global_step, {.decay_steps = 1000, .decay_rate = 0.5});
  model.train = th::AdamOptimizer({.learning_rate = rate}).minimize(model.loss, model.global_step);
  model.accuracy =
      th::reduce_mean(th::cast(th::equal(th::argmax(logits, 1), model.labels), th::DType::Float)).named("accuracy");

  th::summary::scalar("loss_by_step", model.loss);
  th::summary::scalar("batch_accuracy", model.accuracy);
  th::summary::scalar("learning_rate", rate);
  for (const th::Variable& variable : th::trainable_variables(graph))
    th::summary::histogram(variable.name() + "/values", variable);
  th::summary::image("batch", image_grid(next_images));
  return model;
}

void train(const Arguments& arguments) {
  if (arguments.fresh) remove_run(arguments.model_dir);
  const Data data = load_data(arguments);
  th::Graph graph;
  const Model model = build_model(graph, data.train, arguments.seed);

  auto evaluation = std::make_shared<th::FinalOpsHook>(
      th::FetchRefs{model.accuracy, model.global_step},
      th::FinalOpsHook::Options{.final_ops_feed_dict = {{model.images, data.test[0]}, {model.labels, data.test[1]}}});
  th::HookList hooks = {th::StopAtStepHook({.last_step = arguments.steps}),
                        th::NanTensorHook(model.loss),
                        BatchFingerprint(model.images, model.labels),
                        th::LoggingTensorHook({{"loss", model.loss}}, {.every_n_iter = 1000}),
                        th::ProgressHook({.last_step = arguments.steps, .tensors = {{"loss", model.loss}}}),
                        th::CheckpointInputPipelineHook(),
                        th::SignalHook({.directory = arguments.model_dir}),  // Ctrl-C saves the last step
                        evaluation};
  if (arguments.sync) {
    hooks.emplace_back(
        th::CheckpointSaverHook({.checkpoint_dir = arguments.model_dir, .save_steps = arguments.save_steps}));
  } else {
    hooks.emplace_back(
        th::AsyncCheckpointSaverHook({.checkpoint_dir = arguments.model_dir, .save_steps = arguments.save_steps}));
  }

  auto session = th::monitored_training_session<th::EigenSession>(graph, {.checkpoint_dir = arguments.model_dir,
                                                                          .save_summaries_steps = 100,
                                                                          .log_step_count_steps = 500,
                                                                          .hooks = std::move(hooks)});
  const std::int64_t start = session.global_step();
  if (start >= arguments.steps) {
    fmt::print("{} is finished: it stands at step {} of {}\n", arguments.model_dir, start, arguments.steps);
  } else if (start > 0) {
    fmt::print("going on in {} from step {}\n", arguments.model_dir, start);
  } else {
    fmt::print("starting in {}\n", arguments.model_dir);
  }
  std::fflush(stdout);

  th::run_until_stop(session, model.train);

  fmt::print("{}: test accuracy {:.4f} at step {}\n", data.name, evaluation->final_ops_values()[0].scalar<float>(),
             evaluation->final_ops_values()[1].scalar<std::int64_t>());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  const CLI::Range positive(std::int64_t{1}, std::int64_t{1'000'000'000});
  CLI::App app("Trains a 784-128-10 classifier on Fashion-MNIST. Kill it at any moment and start it again.");
  app.add_option("--model-dir", arguments.model_dir, "checkpoints and TensorBoard events")->capture_default_str();
  app.add_option("--steps", arguments.steps, "train up to this step, batches of 128")
      ->capture_default_str()
      ->check(positive);
  app.add_option("--seed", arguments.seed, "of initial weights and of the order of images")->capture_default_str();
  app.add_option("--data", arguments.data, "where images come from")
      ->capture_default_str()
      ->check(CLI::IsMember({"fashion-mnist", "synthetic"}));
  app.add_option("--save-steps", arguments.save_steps, "steps between checkpoints")
      ->capture_default_str()
      ->check(positive);
  app.add_flag("--sync", arguments.sync, "save on the training thread");
  app.add_flag("--fresh", arguments.fresh, "remove what an earlier run left in the model directory");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "quickstart: {}\n", error.what());
    return 1;
  }
  try {
    train(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "quickstart: {}\n", th::describe(std::current_exception()));
    return 1;
  }
  return 0;
}
