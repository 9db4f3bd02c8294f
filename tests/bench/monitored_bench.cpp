// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a monitored session adds to a training step: hooks that have nothing to do, and an asynchronous save.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <time.h>

#include <allocations.hpp>
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <trainhook/core/log.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/hooks.hpp>
#include <trainhook/trainhook.hpp>
#include <trainhook/watch.hpp>

#include "folder.hpp"
#include "plain_write.hpp"
#include "record.hpp"

namespace {

namespace th = trainhook;
using th::bench::median;
using th::bench::seconds;

constexpr std::int64_t kNever = std::int64_t{1} << 40;

// All that is needed of two groups that take a minute to compile: the sum that reads the global step, and the fill of
// initial values.
constexpr th::KernelDef kOwnKernels[] = {
    {.type = "AddV2",
     .make = [](const th::Node&) -> th::Kernel {
       return [](th::KernelContext& context) {
         context.set_output(
             0, th::Tensor(context.input(0).scalar<std::int64_t>() + context.input(1).scalar<std::int64_t>()));
       };
     }},
    {.type = "Fill", .make = [](const th::Node&) -> th::Kernel {
       return [](th::KernelContext& context) {
         std::ranges::fill(context.output<float>(0, th::Shape{context.data<std::int64_t>(0)[0]}),
                           context.input(1).scalar<float>());
       };
     }}};

th::GraphSessionOptions engine() { return {.kernels = {kOwnKernels, th::kernels::state(), th::kernels::summary()}}; }

/// Six that wait for a step that never comes; the one that watches for NaN looks at every loss.
th::HookList idle_hooks(const std::string& directory, const th::Output& loss, const th::Output& summary) {
  return {th::StopAtStepHook({.last_step = kNever}),
          th::NanTensorHook(loss),
          th::LoggingTensorHook(loss, {.every_n_iter = kNever}),
          th::StepCounterHook({.every_n_steps = kNever, .output_dir = directory}),
          th::SummarySaverHook({.save_steps = kNever, .output_dir = directory, .summary_op = summary}),
          th::CheckpointSaverHook({.checkpoint_dir = directory, .save_steps = kNever})};
}

/// Steps with hooks and without by turns; what the hooks add, in microseconds a step, and what they allocate.
/// @param budget in microseconds
/// @param question for TensorFlow; null: it has nothing of the kind
template <class Hooked, class Bare>
void report_idle_hooks(const std::string& name, double budget, Hooked hooked, Bare bare, const char* question) {
  constexpr int kSteps = 5000;
  const auto micros = [](auto& step) {
    return 1e6 / kSteps * seconds([&] {
             for (int i = 0; i < kSteps; ++i) step();
           });
  };
  (void)micros(hooked);
  (void)micros(bare);
  std::optional<th::bench::TensorFlow> tensorflow;
  if (question != nullptr) tensorflow.emplace(question);
  std::vector<double> added;
  std::size_t allocations = 0;
  for (int round = 0; round < 25; ++round) {
    const double without = micros(bare);
    const th::support::AllocationCount count;
    const double with = micros(hooked);
    allocations += count.so_far();
    added.push_back(with - without);
    if (round % 2 == 0 && tensorflow) tensorflow->measure();
  }
  th::bench::Record record{
      .name = name, .ours = median(added), .peer = budget, .peer_name = "budget", .unit = "us/step", .goal = 1};
  th::bench::report(record);
  record.name += "_tensorflow";
  if (tensorflow) tensorflow->report(record);
  // Not a single one in all rounds: the peer is what would be one a round.
  th::bench::report({.name = name + "_allocations",
                     .ours = static_cast<double>(allocations) / 25 / kSteps,
                     .peer = 1.0 / kSteps,
                     .peer_name = "one in 5000 steps",
                     .unit = "1/step",
                     .goal = 0});
}

void idle_hooks_of_a_graph() {
  const th::bench::Folder folder("idle");
  th::Graph graph;
  const th::Variable step = th::get_or_create_global_step(graph);
  const th::Variable weight = th::make_variable("weight", th::constant(graph, th::Tensor(1.0F)));
  const th::Output loss = th::identity(weight, "loss");
  const th::Operation train = th::increment(step).operation();
  const th::Output summary = th::summary::scalar("loss", loss);
  th::GraphSession bare(graph, engine());
  bare.run(th::global_variables_initializer(graph));
  auto hooked = th::monitored_training_session<th::GraphSession>(
      graph, {.save_checkpoint_steps = 0, .hooks = idle_hooks(folder.file("run"), loss, summary)}, engine());
  report_idle_hooks(
      "idle_hooks", 1, [&] { hooked.run(train); }, [&] { bare.run(train); }, "idle_hooks");
}

void idle_hooks_of_a_loop() {
  const th::bench::Folder folder("idle-loop");
  const auto prepare = [](th::LoopSession& loop, std::vector<float>& weights) {
    loop.variable("weights", weights);
    return loop.value("loss", [&weights] { return weights[0] * weights[0]; });
  };
  std::vector<float> weights = {1};
  std::vector<float> bare_weights = {1};
  th::LoopSession loop;
  const th::Output loss = prepare(loop, weights);
  const th::Output summary = th::summary::scalar("squared", loss);
  th::LoopSession bare;
  prepare(bare, bare_weights);
  auto hooked = th::monitored_training_session(
      loop, {.save_checkpoint_steps = 0, .hooks = idle_hooks(folder.file("run"), loss, summary)});
  report_idle_hooks(
      "idle_hooks_of_a_loop", 1, [&] { hooked.run([&] { weights[0] *= 0.999999F; }); },
      [&] { bare.run([&] { bare_weights[0] *= 0.999999F; }); }, "idle_hooks");
}

/// What the four hooks of watch/ add to the six, when nothing is due: a clock read that they share, and 30 ns each.
void watch_hooks_of_a_loop() {
  const th::bench::Folder folder("watch");
  struct Hooked {
    Hooked(const std::string& directory, bool is_watched) {
      loop.variable("weights", weights);
      const th::Output loss = loop.value("loss", [this] { return weights[0] * weights[0]; });
      th::HookList hooks = idle_hooks(directory, loss, th::summary::scalar("squared", loss));
      if (is_watched) {
        hooks.emplace_back(th::TimeLimitHook({.max_time = std::chrono::hours(100)}));
        hooks.emplace_back(th::WatchdogHook());
        hooks.emplace_back(th::ThroughputHook({.every_n_steps = kNever}));
        hooks.emplace_back(
            th::PrometheusTextfileHook(directory + "/train.prom", {.every_secs = std::chrono::hours(100)}));
      }
      session.emplace(th::monitored_training_session(loop, {.save_checkpoint_steps = 0, .hooks = std::move(hooks)}));
    }
    void step() {
      session->run([this] { weights[0] *= 0.999999F; });
    }
    std::vector<float> weights = {1};
    th::LoopSession loop;
    std::optional<th::MonitoredSession<th::LoopSession>> session;
  };
  Hooked watched(folder.file("watched"), true);
  Hooked six(folder.file("six"), false);
  report_idle_hooks(
      "watch_hooks_of_a_loop", 0.15, [&] { watched.step(); }, [&] { six.step(); }, nullptr);
}

/// Knows whether the checkpoint that was last begun is committed.
class Commits final : public th::CheckpointSaverListener {
 public:
  void before_save(th::SessionRef, std::int64_t) override { pending = true; }
  bool after_save(th::SessionRef, std::int64_t) override { return pending = false; }
  bool pending = false;
};

constexpr int kParts = 8;
constexpr std::int64_t kElements = 12'500'000;

/// Milliseconds: by the clock, and those that this thread was computing, which other programs on the machine do not
/// lengthen.
struct Cost {
  double wall = 0;
  double cpu = 0;
};

double cpu_millis() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

template <class Work>
Cost cost_of(const Work& work) {
  Cost cost;
  const double before = cpu_millis();
  cost.wall = 1e3 * seconds(work);
  cost.cpu = cpu_millis() - before;
  return cost;
}

struct Costs {
  std::vector<double> wall, cpu;
  void add(const Cost& cost) {
    wall.push_back(cost.wall);
    cpu.push_back(cost.cpu);
  }
};

/// One copy of the model into memory that was used before.
Cost copy_of_the_model() {
  static const std::vector<float> from(kParts * kElements, 1.0F);
  static std::vector<float> to(kParts * kElements);
  return cost_of([] {
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  });
}

/// Training subtracts a gradient from 400 MB of variables. Every 100 steps a save falls due, at a step that does
/// nothing but count, so that its own time is the hook's; then training goes on until the checkpoint is committed, and
/// what its steps take longer is the rest of the delay. Some of that is the disk's: the same steps are also timed while
/// another thread does nothing but write and sync as many bytes.
void async_stall() {
  const th::bench::Folder folder("async");
  th::Graph graph;
  const th::Variable step = th::get_or_create_global_step(graph);
  const auto filled_variable = [&](const std::string& name, const th::VariableOptions& options) {
    const th::Output size = th::constant(graph, th::Tensor::copy_of(std::span(&kElements, 1), th::Shape{1}));
    return th::make_variable(name, th::fill(size, th::constant(graph, th::Tensor(1e-3F))), options);
  };
  const th::VariableOptions unsaved{.trainable = false, .collections = {std::string(th::graph_keys::kLocalVariables)}};
  const th::Variable gradient = filled_variable("gradient", unsaved);
  std::vector<th::Operation> updates = {th::increment(step).operation()};
  for (int i = 0; i < kParts; ++i) {
    const th::Variable part = filled_variable("part" + std::to_string(i), th::VariableOptions());
    updates.push_back(th::assign_sub(part, gradient).operation());
  }
  const th::Operation train = th::group(graph, updates);
  const th::Operation count = th::increment(step).operation();

  auto commits = std::make_shared<Commits>();
  auto session = th::monitored_training_session<th::GraphSession>(
      graph,
      {.hooks = {th::AsyncCheckpointSaverHook({.checkpoint_dir = folder.file("run"),
                                               .save_steps = 100,
                                               .saver = std::make_shared<th::Saver>(th::SaverOptions{.max_to_keep = 1}),
                                               .listeners = {commits}})}},
      engine());
  const auto cost = [&](const th::Operation& operation) { return cost_of([&] { session.run(operation); }); };

  th::bench::TensorFlow tensorflow("async_stall");
  std::vector<double> whole;
  Costs triggers, later, copies, writes;
  const std::vector<th::Tensor> plain(kParts, th::Tensor(th::DType::Float, th::Shape{kElements}));
  while (commits->pending) (void)cost(train);  // the checkpoint of the start
  std::int64_t at = session.run(step).scalar<std::int64_t>() % 100;
  for (int round = 0; round < 9; ++round) {
    Costs usual, counting;
    for (int i = 0; i < 5; ++i, ++at) usual.add(cost(train));
    for (; at < 99; ++at) counting.add(cost(count));
    const Cost trigger = cost(count);
    triggers.add({trigger.wall - median(counting.wall), trigger.cpu - median(counting.cpu)});
    at = 0;
    const auto delay_while = [&](const auto& is_busy) {
      Cost delay;
      for (; is_busy(); ++at) {
        const Cost slowed = cost(train);
        delay.wall += slowed.wall - median(usual.wall);
        delay.cpu += slowed.cpu - median(usual.cpu);
      }
      return delay;
    };
    const Cost delay = delay_while([&] { return commits->pending; });
    later.add(delay);
    std::atomic<bool> is_writing = true;
    const std::jthread writer([&] {
      th::bench::write_plainly(folder.file("plain"), plain);
      is_writing = false;
    });
    writes.add(delay_while([&] { return is_writing.load(); }));
    whole.push_back(triggers.wall.back() + delay.wall);
    copies.add(copy_of_the_model());
    if (round % 2 == 0) tensorflow.measure();
  }
  session.close();
  const std::string copied = "one memcpy";
  const std::string budget = "budget";
  th::bench::report({.name = "async_trigger",
                     .ours = median(triggers.wall),
                     .peer = 1,
                     .peer_name = budget,
                     .unit = "ms",
                     .goal = 1});
  th::bench::report({.name = "async_trigger_cpu",
                     .ours = median(triggers.cpu),
                     .peer = 1,
                     .peer_name = budget,
                     .unit = "ms",
                     .goal = 1});
  th::bench::report({.name = "async_later_steps",
                     .ours = median(later.wall),
                     .peer = median(copies.wall),
                     .peer_name = copied,
                     .unit = "ms",
                     .goal = 1});
  th::bench::report({.name = "async_later_steps_cpu",
                     .ours = median(later.cpu),
                     .peer = median(copies.cpu),
                     .peer_name = copied,
                     .unit = "ms",
                     .goal = 1});
  th::bench::report({.name = "async_later_steps_written",
                     .ours = median(later.wall),
                     .peer = median(copies.wall) + median(writes.wall),
                     .peer_name = "plain write + memcpy",
                     .unit = "ms",
                     .goal = 1});
  tensorflow.report({.name = "async_stall_tensorflow", .ours = median(whole), .unit = "ms", .goal = 1});
}

}  // namespace

int main() {
  th::set_log_sink([](th::LogLevel level, std::string_view line) {
    if (level != th::LogLevel::Info) fmt::print(stderr, "{}\n", line);
  });
  idle_hooks_of_a_graph();
  idle_hooks_of_a_loop();
  watch_hooks_of_a_loop();
  async_stall();
}
