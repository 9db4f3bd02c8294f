// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runs programs of many kinds on a disk and a clock of their own, and prints each file that they leave: its path, its
/// size and the checksum of its bytes. What changes here is seen by whoever reads our files.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <trainhook/compat/checkpoint_manager.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/hooks/hooks.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/ranks/peers.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

namespace {

using namespace std::chrono_literals;
using Options = th::MonitoredTrainingSessionOptions;

/// Where a program runs.
struct Machine {
  th::testing::MemoryFileSystem disk{};
  th::testing::ManualClock clock{};

  /// Saves and writes summaries every 2 steps.
  [[nodiscard]] Options options(std::int64_t last_step, th::HookList hooks = {}) {
    Options options{.checkpoint_dir = "run",
                    .save_checkpoint_steps = 2,
                    .save_summaries_steps = 2,
                    .save_command_line = false,
                    .hooks = std::move(hooks),
                    .file_system = &disk,
                    .clock = &clock};
    options.hooks.push_back(th::StopAtStepHook({.last_step = last_step}));
    return options;
  }
};

/// A loop with a variable, a generator and a loss.
struct Loop {
  explicit Loop(bool writes_graph = true) {
    if (writes_graph) loop.export_graph(th::graph_export());
  }

  /// A step takes no time where threads look at the clock, which may be before or after it.
  void train(Machine& machine, const Options& options, const std::function<void()>& in_step = {},
             th::Duration step_time = 0s) {
    auto session = th::monitored_training_session(loop, options);
    th::run_until_stop(session, [&] {
      session.run([&] {
        if (in_step) in_step();
        for (float& weight : weights) weight += static_cast<float>(noise() % 16) / 4;
        loss = 8 - weights[0] / 64;
      });
      machine.clock.advance(step_time);
    });
  }
  [[nodiscard]] th::Metrics metrics() const { return {{"loss", static_cast<double>(loss)}}; }

  std::vector<float> weights = std::vector<float>(5, 1);
  std::mt19937_64 noise{5};
  float loss = 8;
  th::LoopSession loop{};
  th::Output loss_value = [this] {
    loop.variable("weights", weights);
    loop.state("noise", noise);
    return loop.value("loss", [this] { return loss; });
  }();
};

/// A hook with state of its own.
class Sums final : public th::SessionRunHook {
 public:
  explicit Sums(std::int64_t factor) : factor_(factor) {}
  void after_run(th::SessionRunContext& context, const th::SessionRunValues& /*values*/) override {
    sum_ += factor_ * context.global_step();
  }
  [[nodiscard]] th::StateValues save_state() override {
    th::StateValues state;
    state.set("sum", th::Tensor(sum_));
    return state;
  }
  void load_state(const th::StateValues& state) override { sum_ = state.at("sum").scalar<std::int64_t>(); }

 private:
  std::int64_t factor_;
  std::int64_t sum_ = 0;
};

void plain_loop(Machine& machine) {
  Loop loop;
  loop.train(machine, machine.options(5));
}

void plain_loop_without_its_graph(Machine& machine) {
  Loop loop(false);
  loop.train(machine, machine.options(5));
}

void resumed_loop(Machine& machine) {
  for (const std::int64_t last_step : {3, 6}) {
    machine.clock.advance(1s);
    Loop loop;
    loop.train(machine, machine.options(last_step, {std::make_shared<Sums>(2)}));
  }
}

void loop_with_state_of_every_kind(Machine& machine) {
  double rate = 0.5;
  bool flag = false;
  std::vector<std::int8_t> int8{1, -2};
  std::vector<std::uint64_t> uint64{3, 4};
  std::vector<th::Half> half(2);
  std::string text = "begin";
  std::uint32_t counter = 7;
  std::minstd_rand other(9);
  Loop loop;
  loop.loop.variable("rate", rate);
  loop.loop.variable("flag", flag);
  loop.loop.variable("int8", int8, {.shape = {2, 1}});
  loop.loop.variable("uint64", uint64);
  loop.loop.variable("half", half);
  loop.loop.state("counter", counter);
  loop.loop.state("other", other);
  loop.loop.state(
      "text", [&] { return text; }, [&](const std::string& saved) { text = saved; });
  const auto saver = std::make_shared<th::Saver>(
      th::SaverOptions{.sharded = true, .shard_bytes = 64, .pad_step_number = true, .save_relative_paths = false});
  Options options = machine.options(4);
  options.save_graph_def = false;
  options.scaffold = std::make_shared<th::Scaffold>(th::ScaffoldOptions{.saver = saver});
  loop.train(machine, options, [&] {
    rate /= 2;
    flag = !flag;
    text = fmt::format("step {}", ++counter);
    other();
  });
}

void checkpoints_that_are_kept(Machine& machine) {
  const auto saver =
      std::make_shared<th::Saver>(th::SaverOptions{.max_to_keep = 2, .keep_checkpoint_every_n_hours = 0.001});
  Options options = machine.options(12);
  options.scaffold = std::make_shared<th::Scaffold>(th::ScaffoldOptions{.saver = saver});
  options.save_summaries_steps = 0;
  options.log_step_count_steps = 0;
  Loop loop;
  loop.train(machine, options, {}, 1s);
}

void saves_in_the_background(Machine& machine) {
  Options options = machine.options(
      5,
      {th::AsyncCheckpointSaverHook(
          {.checkpoint_dir = "run", .save_steps = 2, .save_command_line = false, .overlap = th::SaveOverlap::Wait})});
  options.save_checkpoint_steps.reset();
  Loop loop;
  loop.train(machine, options);
}

void summaries_of_a_loop(Machine& machine) {
  Loop loop;
  const th::Output kept = loop.loop.value("kept", [] { return std::vector<float>{1, 2, 4}; });
  const th::Output said = loop.loop.value("said", [] { return std::string("so far"); });
  const th::FetchRefs summaries{th::summary::scalar("loss", loop.loss_value), th::summary::histogram("weights", kept),
                                th::summary::text("note", said)};
  loop.train(
      machine,
      machine.options(5, {th::SummarySaverHook({.save_steps = 2, .output_dir = "summaries", .summary_op = summaries}),
                          th::HParamsHook({.hparams = {{"rate", 0.5}, {"kind", "plain"}}, .output_dir = "run"})}));
}

void best_checkpoints_and_metrics(Machine& machine) {
  Loop loop;
  loop.train(
      machine,
      machine.options(7, {th::EvaluationHook([&] { return loop.metrics(); }, {.every_n_steps = 2, .output_dir = "run"}),
                          th::EarlyStoppingHook({.patience = 100}), th::BestCheckpointHook({.keep = 2}),
                          th::CsvLoggerHook({"loss"}, {.path = "run/log.csv", .every_n_steps = 2}),
                          th::JsonLinesHook({"loss"}, {.path = "run/log.jsonl", .every_n_steps = 3})}));
}

void averages(Machine& machine) {
  Loop loop;
  loop.train(machine,
             machine.options(4, {th::ExponentialMovingAverageHook({.decay = 0.75, .variables = {"weights"}})}));
}

void input_of_a_loop(Machine& machine) {
  for (const std::int64_t last_step : {3, 5}) {
    machine.clock.advance(1s);
    Loop loop;
    th::Iterator& input =
        th::make_iterator(loop.loop, th::Dataset::range(40).shuffle(7, 11).batch(3).repeat(), "input");
    loop.train(machine, machine.options(last_step, {th::CheckpointInputPipelineHook()}), [&] {
      th::Element element;
      input.get_next(element);
      loop.weights[1] += static_cast<float>(element[0].data<std::int64_t>()[0]);
    });
  }
}

void saves_by_hand(Machine& machine) {
  Loop loop;
  th::CheckpointManager manager("run", 2, {.file_system = &machine.disk, .clock = &machine.clock});
  for (int i = 0; i < 4; ++i) {
    loop.weights[0] += 1;
    machine.clock.advance(1s);
    manager.save(loop.loop);
  }
}

/// All numbers are small and whole, or halves of such, so that no processor rounds them.
void train_graph(Machine& machine, const th::SaverOptions& saver, std::int64_t last_step) {
  th::Graph graph;
  const auto [number] = th::make_iterator(graph, th::Dataset::range(50).repeat(), "numbers").get_next<1>();
  const th::Output x = th::cast(number, th::DType::Float);
  const th::Variable slope = th::get_variable(graph, "slope", {3}, {.initializer = th::constant_initializer(0.5)});
  const th::Variable offset = th::get_variable(graph, "offset", {}, {.initializer = th::ones_initializer()});
  const th::Output loss = th::reduce_sum(slope.read * x + offset.read).named("loss");
  const th::Operation train = th::MomentumOptimizer({.learning_rate = 0.5, .momentum = 0.5})
                                  .minimize(loss, th::get_or_create_global_step(graph));
  th::summary::scalar("loss", loss);
  th::summary::histogram("slopes", slope.read);
  const auto scaffold =
      std::make_shared<th::Scaffold>(th::ScaffoldOptions{.saver = std::make_shared<th::Saver>(saver)});
  Options options = machine.options(last_step, {th::CheckpointInputPipelineHook()});
  options.scaffold = scaffold;
  auto session = th::monitored_training_session<th::EigenSession>(graph, options);
  th::run_until_stop(session, [&] { session.run(train); });
}

void graph(Machine& machine) { train_graph(machine, {}, 5); }

void resumed_graph_in_shards(Machine& machine) {
  for (const std::int64_t last_step : {2, 5}) {
    machine.clock.advance(1s);
    train_graph(machine, {.sharded = true, .shard_bytes = 16}, last_step);
  }
}

/// Trains a loop on each of two ranks, which differ in the states of a hook and a generator, and in what `add` adds and
/// returns: what they do in a step.
void train_ranks(Machine& machine, const th::SaverOptions& saver,
                 const std::function<std::function<void()>(int rank, Loop& loop, Options& options)>& add) {
  const auto errors = th::testing::ThreadedRanks(2).run([&](const std::shared_ptr<th::Collective>& collective) {
    const int rank = collective->rank();
    std::mt19937 own(static_cast<unsigned>(rank));
    Loop loop;
    loop.loop.state("own", own);
    Options options = machine.options(5, {std::make_shared<Sums>(rank + 1)});
    options.peers = th::ranks::peers(collective);
    options.scaffold = std::make_shared<th::Scaffold>(th::ScaffoldOptions{.saver = std::make_shared<th::Saver>(saver)});
    const std::function<void()> in_step = add(rank, loop, options);
    const auto step = [&] {
      own();
      if (in_step) in_step();
    };
    loop.train(machine, options, step);
  });
  for (const std::exception_ptr& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
}

void ranks(Machine& machine) {
  train_ranks(machine, {}, [](int, Loop&, Options&) { return std::function<void()>(); });
}

void ranks_with_parts_and_shards(Machine& machine) {
  std::vector<std::vector<double>> fields{std::vector<double>(6, 1), std::vector<double>(6, 2)};
  train_ranks(machine, {.sharded = true}, [&](int rank, Loop& loop, Options& options) {
    std::vector<double>& field = fields[static_cast<std::size_t>(rank)];
    loop.loop.variable("field", std::span(field),
                       {.shape = {3, 2}, .part_of = {.shape = {6, 2}, .offset = {std::int64_t{3} * rank, 0}}});
    th::Iterator& input = th::make_iterator(loop.loop, th::Dataset::range(100).shard(2, rank), "input");
    options.hooks.push_back(th::CheckpointInputPipelineHook());
    return [&field, &input] {
      th::Element element;
      input.get_next(element);
      for (double& value : field) value += static_cast<double>(element[0].scalar<std::int64_t>());
    };
  });
}

/// The name of an event file ends in the machine's name and the process's number.
std::string without_machine(const std::string& path) {
  constexpr std::string_view kMark = ".tfevents.";
  const std::size_t at = path.find(kMark);
  if (at == std::string::npos) return path;
  return path.substr(0, path.find('.', at + kMark.size()));
}

}  // namespace

int main() try {
  const std::vector<std::pair<std::string_view, void (*)(Machine&)>> programs = {
      {"plain_loop", plain_loop},
      {"plain_loop_without_its_graph", plain_loop_without_its_graph},
      {"resumed_loop", resumed_loop},
      {"loop_with_state_of_every_kind", loop_with_state_of_every_kind},
      {"checkpoints_that_are_kept", checkpoints_that_are_kept},
      {"saves_in_the_background", saves_in_the_background},
      {"summaries_of_a_loop", summaries_of_a_loop},
      {"best_checkpoints_and_metrics", best_checkpoints_and_metrics},
      {"averages", averages},
      {"input_of_a_loop", input_of_a_loop},
      {"saves_by_hand", saves_by_hand},
      {"graph", graph},
      {"resumed_graph_in_shards", resumed_graph_in_shards},
      {"ranks", ranks},
      {"ranks_with_parts_and_shards", ranks_with_parts_and_shards}};
  for (const auto& [name, run] : programs) {
    Machine machine;
    run(machine);
    for (const std::string& path : machine.disk.files()) {
      if (path.ends_with("run.pbtxt")) continue;  // which says what processor it was
      const std::string bytes = machine.disk.contents(path);
      fmt::print("{}/{} {} {:08x}\n", name, without_machine(path), bytes.size(), th::crc32c::value(bytes));
    }
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
