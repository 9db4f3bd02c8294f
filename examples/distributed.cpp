// SPDX-License-Identifier: Apache-2.0
// The quickstart's model, trained by several processes on MPI: mpirun -n 4 ./distributed. Kill one or all of them, and
// start it again with any number of processes that divides 128: it goes on with the next batch.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/mpi/distributed_optimizer.hpp>
#include <trainhook/mpi/runtime.hpp>
#include <trainhook/mpi/shard_globally.hpp>
#include <trainhook/trainhook.hpp>

#include "synthetic_images.hpp"

namespace th = trainhook;

namespace {

void train(const th::mpi::Communicator& world, const std::string& directory, std::int64_t steps,
           std::int64_t save_steps) {
  th::Graph graph;
  graph.set_random_seed(1);
  // Each process has a part of each batch of 128; the sequence of batches does not depend on their number.
  const th::Dataset batches = synthetic_images(10'000, 1).shuffle(10'000, 1).repeat().batch(128);
  const th::GraphIterator iterator = th::make_iterator(graph, th::mpi::shard_globally(batches, world), "batches");
  th::save_with_model(iterator);
  auto [next_images, next_labels] = iterator.get_next<2>();
  const th::Output images = th::placeholder_with_default(next_images, {th::kUnknownDim, 784}, "images");
  const th::Output labels = th::placeholder_with_default(next_labels, {th::kUnknownDim}, "labels");

  const th::Output logits = th::dense(th::relu(th::dense(images, 128, "hidden")), 10, "logits");
  const th::Output loss = th::reduce_mean(th::sparse_softmax_cross_entropy_with_logits(labels, logits)).named("loss");
  const th::Output accuracy =
      th::reduce_mean(th::cast(th::equal(th::argmax(logits, 1), labels), th::DType::Float)).named("accuracy");
  const th::Variable step = th::get_or_create_global_step(graph);
  auto optimizer = th::mpi::DistributedOptimizer(th::AdamOptimizer({.learning_rate = 1e-3}), world);
  const th::Output mean_loss = th::mpi::all_reduce(loss, th::mpi::Reduction::Mean, world);  // of the whole batch
  th::summary::scalar("mean_loss", mean_loss);
  // The mean waits for all processes, but only the chief writes summaries. So it is part of every step, on every
  // process.
  const th::Operation train_op = th::group(graph, {optimizer.minimize(loss, step), mean_loss.operation()});

  th::Element test;
  th::Iterator(synthetic_images(2'000, 2).batch(2'000)).get_next(test);
  const auto evaluation = std::make_shared<th::FinalOpsHook>(
      th::FetchRefs{accuracy},
      th::FinalOpsHook::Options{.final_ops_feed_dict = {{images, test[0]}, {labels, test[1]}}});
  // All processes have the same variables, so each writes a part of them into the checkpoint.
  const auto saver = std::make_shared<th::Saver>(th::SaverOptions{.sharded = true});
  auto session = th::monitored_training_session<th::EigenSession>(
      graph, {.peers = th::mpi::peers(world),
              .checkpoint_dir = directory,
              .scaffold = std::make_shared<th::Scaffold>(th::ScaffoldOptions{.saver = saver}),
              .save_checkpoint_steps = save_steps,
              .hooks = {th::StopAtStepHook({.last_step = steps}), th::NanTensorHook(loss), th::SignalHook()},
              .chief_only_hooks = {th::LoggingTensorHook({{"loss", loss}}, {.every_n_iter = 100}), evaluation}});
  th::run_until_stop(session, train_op);

  if (world.rank() == 0) {
    fmt::print("{} processes: test accuracy {:.4f} at step {}\n", world.size(),
               evaluation->final_ops_values()[0].scalar<float>(), session.global_step());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory = "distributed-run";
  std::int64_t steps = 500;
  std::int64_t save_steps = 100;
  CLI::App app("Trains a 784-128-10 classifier with all processes of an MPI job, which share the disk of --dir.");
  app.add_option("--dir", directory, "checkpoints and TensorBoard events")->capture_default_str();
  app.add_option("--steps", steps, "train up to this step, batches of 128")->capture_default_str();
  app.add_option("--save-steps", save_steps, "steps between checkpoints")->capture_default_str();
  try {
    const th::mpi::Runtime mpi(argc, argv);
    app.parse(argc, argv);
    train(mpi.world(), directory, steps, save_steps);
  } catch (const CLI::Success& help) { return app.exit(help); } catch (...) {
    fmt::print(stderr, "distributed: {}\n", th::describe(std::current_exception()));
    return 1;
  }
  return 0;
}
