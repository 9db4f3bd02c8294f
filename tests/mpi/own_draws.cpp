// SPDX-License-Identifier: Apache-2.0
/// @file
/// A job whose ranks differ in what they draw, what they read and what their hooks count: own_draws --dir <directory>
/// --steps <last step> --save-steps <period>. What it ends with depends on all of it.
#include <bit>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/mpi/all_reduce.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/mpi/runtime.hpp>

namespace {

namespace th = trainhook;

/// Adds up what its rank has read.
class Sum final : public th::SessionRunHook {
 public:
  explicit Sum(const std::int64_t& last) : last_(&last) {}
  void after_run(th::SessionRunContext& /*context*/, const th::SessionRunValues& /*values*/) override {
    sum_ = (sum_ * 31 + *last_) % 1000003;
  }
  [[nodiscard]] th::StateValues save_state() override {
    th::StateValues state;
    state.set("sum", th::Tensor(sum_));
    return state;
  }
  void load_state(const th::StateValues& state) override { sum_ = state.at("sum").scalar<std::int64_t>(); }

  [[nodiscard]] std::int64_t sum() const noexcept { return sum_; }

 private:
  const std::int64_t* last_;
  std::int64_t sum_ = 0;
};

void train(const th::mpi::Communicator& world, const std::string& directory, std::int64_t steps,
           std::int64_t save_steps) {
  const auto seed = static_cast<unsigned>(world.rank() + 1);
  std::vector<double> weights(2, 1.0);
  std::mt19937_64 noise(seed);
  std::int64_t last_read = 0;
  const auto sum = std::make_shared<Sum>(last_read);

  th::LoopSession loop;
  loop.variable("weights", weights);
  loop.state("noise", noise);
  th::Iterator& input = th::make_iterator(loop, th::Dataset::range(200).shuffle(200, seed).repeat(), "input");
  th::save_with_model(loop.graph(), "input");

  th::MonitoredTrainingSessionOptions options{.peers = th::mpi::peers(world), .checkpoint_dir = directory};
  options.hooks = {th::StopAtStepHook({.last_step = steps}), sum};
  options.chief_only_hooks = {
      th::AsyncCheckpointSaverHook({.checkpoint_dir = directory, .save_steps = save_steps, .save_graph_def = false})};
  auto session = th::monitored_training_session(loop, options);
  th::run_until_stop(session, [&] {
    session.run([&] {
      th::Element element;
      input.get_next(element);
      last_read = element.at(0).scalar<std::int64_t>();
      std::vector<double> change = {std::normal_distribution<double>(0, 1)(noise), static_cast<double>(last_read)};
      th::mpi::all_reduce(change, th::mpi::Reduction::Mean, world);
      weights[0] = 0.999 * weights[0] + 0.001 * change[0];
      weights[1] = 0.999 * weights[1] + 0.001 * change[1] * weights[0];
    });
  });
  std::vector<std::int64_t> sums(static_cast<std::size_t>(world.size()));
  sums[static_cast<std::size_t>(world.rank())] = sum->sum();
  th::mpi::all_reduce(sums, th::mpi::Reduction::Sum, world);
  if (world.rank() != 0) return;
  fmt::print("weights {:016x} {:016x}", std::bit_cast<std::uint64_t>(weights[0]),
             std::bit_cast<std::uint64_t>(weights[1]));
  for (const std::int64_t one : sums) fmt::print(" {}", one);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> arguments;
  for (int i = 1; i + 1 < argc; i += 2) arguments[argv[i]] = argv[i + 1];
  try {
    const th::mpi::Runtime mpi(argc, argv);
    train(mpi.world(), arguments.at("--dir"), std::stoll(arguments.at("--steps")),
          std::stoll(arguments.at("--save-steps")));
  } catch (...) {
    std::cerr << "own_draws: " << th::describe(std::current_exception()) << '\n';
    return 1;
  }
  return 0;
}
