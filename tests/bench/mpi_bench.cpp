// SPDX-License-Identifier: Apache-2.0
/// @file
/// What several processes cost, beside bare calls of MPI in the same run: the agreement after each step,
/// gradients that are added up in buckets, and steps whose reductions overlap the backward pass. Run by mpirun with any
/// number of processes.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include <trainhook/core/log.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/mpi/all_reduce.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/mpi/distributed_optimizer.hpp>
#include <trainhook/mpi/runtime.hpp>
#include <trainhook/ranks/equal_variables.hpp>
#include <trainhook/trainhook.hpp>

#include "folder.hpp"
#include "record.hpp"

namespace {

namespace th = trainhook;
using th::bench::median;
using th::bench::seconds;

constexpr int kRounds = 15;

/// For the rank that writes the records.
void report(const th::mpi::Communicator& world, th::bench::Record record) {
  record.name += fmt::format("_{}_ranks", world.size());
  if (world.rank() == 0) th::bench::report(record);
}

/// Seconds that all ranks take, from the moment when all are there.
template <class Work>
double seconds_together(const th::mpi::Communicator& world, Work work) {
  MPI_Barrier(world.native());
  return seconds(work);
}

/// What an agreement adds to a step, and what a reduction of 8 bytes after the same work adds; work that is nothing,
/// and work of a millisecond, after which each rank waits for the slowest one. All four by turns.
void agreement(const th::mpi::Communicator& world, std::chrono::microseconds work, const char* name, double goal) {
  const int steps = work.count() > 0 ? 200 : 2000;
  const auto step = [&] {
    const auto end = std::chrono::steady_clock::now() + work;
    while (work.count() > 0 && std::chrono::steady_clock::now() < end) {}
  };
  std::vector<float> weights(1);
  th::LoopSession together;
  together.variable("weights", weights);
  th::LoopSession alone;
  alone.variable("weights", weights);
  auto agreeing = th::monitored_training_session(together, {.peers = th::mpi::peers(world)});
  auto plain = th::monitored_training_session(alone, {});
  const auto micros = [&](auto& session) {
    return 1e6 / steps * seconds_together(world, [&] {
             for (int i = 0; i < steps && !session.should_stop(); ++i) session.run(step);
           });
  };
  const auto bare = [&](bool reduces) {
    std::int64_t eight = 0;
    return 1e6 / steps * seconds_together(world, [&] {
             for (int i = 0; i < steps; ++i) {
               step();
               if (reduces) MPI_Allreduce(MPI_IN_PLACE, &eight, 1, MPI_INT64_T, MPI_MAX, world.native());
             }
           });
  };
  (void)micros(agreeing);
  std::vector<double> added;
  std::vector<double> reductions;
  for (int round = 0; round < kRounds; ++round) {
    const double without = micros(plain);
    added.push_back(micros(agreeing) - without);
    const double work_alone = bare(false);
    reductions.push_back(bare(true) - work_alone);
  }
  report(world, {.name = name,
                 .ours = median(added),
                 .peer = median(reductions),
                 .peer_name = "MPI_Allreduce of 8 bytes",
                 .unit = "us/step",
                 .goal = goal});
}

/// 100 MB of gradients in buckets of 16 MiB, beside one call for all of it.
void buckets(const th::mpi::Communicator& world) {
  constexpr std::size_t kCount = 25'000'000;
  constexpr std::size_t kBucket = (std::size_t{16} << 20U) / sizeof(float);
  std::vector<float> gradients(kCount, 1.0F);
  const auto in_buckets = [&] {
    for (std::size_t begin = 0; begin < kCount; begin += kBucket) {
      const std::span<float> bucket = std::span(gradients).subspan(begin, (std::min)(kBucket, kCount - begin));
      th::mpi::all_reduce(bucket, th::mpi::Reduction::Sum, world);
    }
  };
  const auto at_once = [&] {
    MPI_Allreduce(MPI_IN_PLACE, gradients.data(), static_cast<int>(kCount), MPI_FLOAT, MPI_SUM, world.native());
  };
  std::vector<double> ours;
  std::vector<double> bare;
  for (int round = 0; round < kRounds; ++round) {
    std::ranges::fill(gradients, 1.0F);
    ours.push_back(1e3 * seconds_together(world, in_buckets));
    bare.push_back(1e3 * seconds_together(world, at_once));
  }
  report(world, {.name = "mpi_buckets",
                 .ours = median(ours),
                 .peer = median(bare),
                 .peer_name = "MPI_Allreduce, 100 MB",
                 .unit = "ms",
                 .goal = 1});
}

/// A network of large layers, in which the gradients of one are 16 MiB: each a bucket.
struct LargeModel {
  static constexpr std::int64_t kWidth = 2048;
  static constexpr std::int64_t kRows = 64;
  static constexpr int kLayers = 6;

  LargeModel() {
    x = th::placeholder(graph, th::DType::Float, {kRows, kWidth}, "x");
    th::Output y = x;
    for (int i = 0; i < kLayers; ++i) {
      const th::Variable kernel =
          th::get_variable(graph, fmt::format("kernel_{}", i), {kWidth, kWidth}, {.dtype = th::DType::Float});
      y = th::tanh(th::matmul(y, kernel));
    }
    loss = th::reduce_mean(th::square(y));
  }

  th::Graph graph;
  th::Output x{}, loss{};
};

/// Gradients in the same buckets, each in a reduction that waits, after the backward pass.
th::Operation train_without_overlap(LargeModel& model, const th::mpi::Communicator& world) {
  th::GradientDescentOptimizer optimizer({.learning_rate = 0.01});
  std::vector<th::GradientAndVariable> pairs = optimizer.compute_gradients(model.loss);
  std::ranges::sort(pairs, {}, [](const th::GradientAndVariable& pair) { return pair.gradient.node().id(); });
  const auto ranks = th::mpi::reducer(world);
  for (th::GradientAndVariable& pair : pairs)
    pair.gradient = th::all_reduce({pair.gradient}, th::Reduction::Mean, ranks).front();
  return optimizer.apply_gradients(pairs);
}

/// A step whose reductions overlap the backward pass, beside one whose reductions come after it.
void overlap(const th::mpi::Communicator& world) {
  LargeModel overlapping;
  const th::Operation train =
      th::mpi::DistributedOptimizer(th::GradientDescentOptimizer({.learning_rate = 0.01}), world)
          .minimize(overlapping.loss);
  LargeModel waiting;
  const th::Operation train_waiting = train_without_overlap(waiting, world);
  const std::vector<float> ones(static_cast<std::size_t>(LargeModel::kRows * LargeModel::kWidth), 1.0F);
  const th::Tensor rows = th::Tensor::copy_of(std::span(ones), {LargeModel::kRows, LargeModel::kWidth});
  th::EigenSession session(overlapping.graph);
  th::EigenSession session_waiting(waiting.graph);
  session.run(th::global_variables_initializer(overlapping.graph));
  session_waiting.run(th::global_variables_initializer(waiting.graph));
  std::vector<double> ours;
  std::vector<double> after;
  for (int round = -1; round < kRounds; ++round) {
    const double with = seconds_together(world, [&] { session.run(train, {{overlapping.x, rows}}); });
    const double without = seconds_together(world, [&] { session_waiting.run(train_waiting, {{waiting.x, rows}}); });
    if (round < 0) continue;  // buffers are made
    ours.push_back(1e3 * with);
    after.push_back(1e3 * without);
  }
  report(world, {.name = "mpi_overlap",
                 .ours = median(ours),
                 .peer = median(after),
                 .peer_name = "after the backward pass",
                 .unit = "ms/step",
                 .goal = world.size() == 2 ? 1 : 1.1});  // more ranks than processors have nothing to overlap with
}

/// The milliseconds of the digests by which the ranks compare these variables at each save.
double milliseconds_of_digests(std::vector<std::vector<float>>& weights) {
  th::LoopSession loop;
  for (std::size_t i = 0; i < weights.size(); ++i) loop.variable(fmt::format("w{}", i), weights[i]);
  loop.open();
  const double milliseconds = 1e3 * seconds([&] { (void)th::detail::digests_of(loop, 0); });
  loop.close();
  return milliseconds;
}

/// A checkpoint of 256 MB that all ranks write together, beside one that the chief writes alone; and the part of the
/// latter that the comparison of the ranks' variables takes.
void sharded_saves(const th::mpi::Communicator& world) {
  constexpr std::size_t kVariables = 8;
  constexpr int kSaves = 5;
  std::optional<th::bench::Folder> folder;
  if (world.rank() == 0) folder.emplace("mpi");
  const std::string path =
      th::mpi::collective(world)->broadcast(folder ? folder->file("save") : "", 0, th::mpi::kMaxWait);
  std::vector<std::vector<float>> weights(kVariables, std::vector<float>(std::size_t{8} << 20U));
  const auto milliseconds = [&](const char* name, bool sharded) {
    th::LoopSession loop;
    for (std::size_t i = 0; i < kVariables; ++i) loop.variable(fmt::format("w{}", i), weights[i]);
    const auto saver = std::make_shared<th::Saver>(th::SaverOptions{.sharded = sharded, .max_to_keep = 1});
    auto session = th::monitored_training_session(
        loop, {.peers = th::mpi::peers(world),
               .checkpoint_dir = fmt::format("{}/{}", path, name),
               .scaffold = std::make_shared<th::Scaffold>(th::ScaffoldOptions{.saver = saver}),
               .save_checkpoint_steps = 1});
    std::vector<double> saves;
    for (int i = 0; i < kSaves && !session.should_stop(); ++i)
      saves.push_back(1e3 * seconds_together(world, [&] { session.run([] {}); }));
    return median(saves);
  };
  std::vector<double> together;
  std::vector<double> alone;
  std::vector<double> digests;
  for (int round = 0; round < 3; ++round) {
    MPI_Barrier(world.native());
    digests.push_back(milliseconds_of_digests(weights));
    together.push_back(milliseconds("together", true));
    alone.push_back(milliseconds("alone", false));
    MPI_Barrier(world.native());
    if (world.rank() == 0) std::filesystem::remove_all(path);
  }
  report(world, {.name = "mpi_sharded_save",
                 .ours = median(together),
                 .peer = median(alone),
                 .peer_name = "the chief alone, 256 MB",
                 .unit = "ms",
                 .goal = 1});
  report(world, {.name = "mpi_digests",
                 .ours = median(digests),
                 .peer = median(alone),
                 .peer_name = "the save of 256 MB that they are part of",
                 .unit = "ms",
                 .goal = 0.25});
}

}  // namespace

int main(int argc, char** argv) {
  const th::mpi::Runtime mpi(argc, argv);
  th::set_log_sink([](th::LogLevel, std::string_view) {});
  agreement(mpi.world(), std::chrono::microseconds(0), "mpi_overhead", 1.2);
  agreement(mpi.world(), std::chrono::microseconds(1000), "mpi_overhead_1ms", 1);
  buckets(mpi.world());
  overlap(mpi.world());
  sharded_saves(mpi.world());
  return 0;
}
