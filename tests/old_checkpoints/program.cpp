// SPDX-License-Identifier: Apache-2.0
/// @file
/// Trains a loop, a graph and a job of two ranks to a step, with state of every kind, and prints what their last
/// checkpoints hold: program <directory> <step>. make.sh compiles it with the headers of an earlier commit, too.
#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#if __has_include(<trainhook/ranks/peers.hpp>)
#include <trainhook/engine.hpp>
#include <trainhook/ranks/peers.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#elif __has_include(<trainhook/engine.hpp>)
#include <trainhook/engine.hpp>
#include <trainhook/testing/threaded_ranks.hpp>
#else
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/initializers.hpp>
#include <trainhook/graph/moving_averages.hpp>
#include <trainhook/graph/ops/random.hpp>
#include <trainhook/testing/threaded_ranks.hpp>
#endif
#if __has_include(<trainhook/data.hpp>)
#include <trainhook/data.hpp>
#else
#include <trainhook/checkpoint/iterator_saveable.hpp>
#include <trainhook/loop/loop_iterator.hpp>
#endif
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/hooks/hooks.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

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

/// A pipeline whose position has a part of every kind.
th::Dataset numbers() {
  const auto tripled = [](const th::Element& element) {
    return th::Element{th::Tensor(element[0].scalar<std::int64_t>() * 3)};
  };
  const auto odd = [](const th::Element& element) { return element[0].scalar<std::int64_t>() % 2 == 1; };
  const auto below = [](const th::Element& element) { return th::Dataset::range(element[0].scalar<std::int64_t>()); };
  const th::Dataset left = th::Dataset::range(40).shuffle(7, 11).map(tripled, {.num_parallel_calls = 2}).filter(odd);
  const th::Dataset right = th::Dataset::range(2, 6).interleave(below, {.cycle_length = 2});
  const th::Dataset both = th::Dataset::zip({left.repeat(), right.concatenate(th::Dataset::range(5)).repeat()});
  return both.batch(2).skip(1).shard(2, 1).repeat().prefetch(3);
}

std::int64_t sum_of(const th::Element& element) {
  std::int64_t sum = 0;
  for (const th::Tensor& component : element)
    for (const std::int64_t value : component.data<std::int64_t>()) sum += value;
  return sum;
}

/// Plain memory of every dtype, generators and other state, hooks that remember.
void train_loop(const std::string& directory, std::int64_t last_step) {
  std::vector<float> weights(3, 1);
  double rate = 0.5;
  std::vector<std::int8_t> int8(2);
  std::vector<std::int16_t> int16(2);
  std::vector<std::int32_t> int32(2);
  std::vector<std::int64_t> int64(2);
  std::vector<std::uint8_t> uint8(2);
  std::vector<std::uint16_t> uint16(2);
  std::vector<std::uint32_t> uint32(2);
  std::vector<std::uint64_t> uint64(2);
  std::vector<th::Half> half(2);
  bool flag = false;
  std::mt19937_64 noise(5);
  std::minstd_rand other(9);
  std::uint32_t counter = 0;
  std::string text = "begin";
  float loss = 0;
  const auto count = [](auto& values, std::int64_t step) {
    using Number = typename std::remove_reference_t<decltype(values)>::value_type;
    for (Number& value : values) value = static_cast<Number>(value + static_cast<Number>(step));
  };

  th::LoopSession loop;
  loop.variable("weights", weights);
  loop.variable("learning_rate", rate);
  loop.variable("int8", int8);
  loop.variable("int16", int16);
  loop.variable("int32", int32);
  loop.variable("int64", int64);
  loop.variable("uint8", uint8);
  loop.variable("uint16", uint16);
  loop.variable("uint32", uint32);
  loop.variable("uint64", uint64);
  loop.variable("half", half);
  loop.variable("flag", flag);
  loop.state("noise", noise);
  loop.state("other", other);
  loop.state("counter", counter);
  loop.state(
      "text", [&] { return text; }, [&](const std::string& saved) { text = saved; });
  loop.value("loss", [&] { return loss; });
  th::Iterator& input = th::make_iterator(loop, numbers(), "input");
  const auto evaluate = [&] { return th::Metrics{{"loss", static_cast<double>(weights[0])}}; };

  th::MonitoredTrainingSessionOptions options{.checkpoint_dir = directory + "/loop"};
  options.save_checkpoint_steps = 100;
  options.hooks = {th::StopAtStepHook({.last_step = last_step}),
                   std::make_shared<Sums>(2),
                   th::LearningRateWarmUpHook({.steps = 4}),
                   th::EvaluationHook(evaluate, {.every_n_steps = 2}),
                   th::EarlyStoppingHook({.patience = 100}),
                   th::ReduceLearningRateOnPlateauHook({.factor = 0.5, .patience = 2}),
                   th::BestCheckpointHook({.keep = 2}),
                   th::ExponentialMovingAverageHook({.decay = 0.75, .variables = {"weights"}}),
                   th::CsvLoggerHook({"loss"}, {.path = directory + "/loop/log.csv", .every_n_steps = 2}),
                   th::CheckpointInputPipelineHook()};
  auto session = th::monitored_training_session(loop, options);
  th::run_until_stop(session, [&] {
    session.run([&] {
      th::Element element;
      input.get_next(element);
      const std::int64_t step = loop.global_step() + 1;
      loss = static_cast<float>(sum_of(element));
      for (float& weight : weights) weight += loss + static_cast<float>(noise() % 16) / 4;
      count(int8, step);
      count(int16, step);
      count(int32, step);
      count(int64, step);
      count(uint8, step);
      count(uint16, step);
      count(uint32, step);
      count(uint64, step);
      for (th::Half& value : half) value.bits = static_cast<std::uint16_t>(value.bits + other() % 8);
      flag = !flag;
      ++counter;
      text = fmt::format("step {}", step);
    });
  });
}

/// Optimizers with slots, a moving average, random ops, an iterator. Each sum has one way to be rounded.
void train_graph(const std::string& directory, std::int64_t last_step) {
  th::Graph graph;
  const auto [number] =
      th::make_iterator(graph, th::Dataset::range(50).shuffle(9, 3).repeat(), "numbers").get_next<1>();
  const th::Output x = th::dropout(th::cast(number, th::DType::Float), 0.5, 13);
  const th::Variable slope = th::get_variable(graph, "slope", {}, {.initializer = th::constant_initializer(0.5)});
  const th::Variable offset =
      th::get_variable(graph, "offset", {}, {.initializer = th::random_uniform_initializer(-1, 1, 7)});
  const th::Variable scale = th::get_variable(graph, "scale", {}, {.initializer = th::ones_initializer()});
  const th::Output noise = th::random_uniform(graph, {}, {.seed = 17});
  const th::Output loss = th::square(slope.read * x + offset.read * scale.read - noise).named("loss");
  const th::Variable step = th::get_or_create_global_step(graph);
  const th::Operation adam = th::AdamOptimizer({.learning_rate = 0.01}).minimize(loss, {}, {slope});
  const th::Operation momentum =
      th::MomentumOptimizer({.learning_rate = 0.001, .momentum = 0.5}).minimize(loss, {}, {offset});
  const th::Operation rms_prop = th::RMSPropOptimizer({.learning_rate = 0.001}).minimize(loss, step, {scale});
  const th::Operation average = th::ExponentialMovingAverage({.decay = 0.75}).apply({slope, offset});

  th::MonitoredTrainingSessionOptions options{.checkpoint_dir = directory + "/graph"};
  options.save_checkpoint_steps = 100;
  options.save_summaries_steps = 0;
  options.hooks = {th::StopAtStepHook({.last_step = last_step}), th::CheckpointInputPipelineHook()};
  auto session = th::monitored_training_session<th::EigenSession>(graph, options);
  th::run_until_stop(session, [&] {
    session.run_step_fn([&](th::StepContext<th::EigenSession>& context) {
      for (const th::Operation& update : {adam, momentum, average}) context.session().run(update);
      context.run_with_hooks(rms_prop);
    });
  });
}

/// Two ranks that differ, and write one checkpoint together.
void train_ranks(const std::string& directory, std::int64_t last_step) {
  const auto errors = th::testing::ThreadedRanks(2).run([&](const std::shared_ptr<th::Collective>& collective) {
    const int rank = collective->rank();
    std::vector<float> a(4);
    std::vector<double> b(6);
    std::mt19937 noise(static_cast<unsigned>(rank + 1));
    th::LoopSession loop;
    loop.variable("a", a);
    loop.variable("b", b);
    loop.state("noise", noise);
    th::Iterator& input = th::make_iterator(loop, th::Dataset::range(100), "input");
#if __has_include(<trainhook/data/iterator_saveable.hpp>) || __has_include(<trainhook/checkpoint/iterator_saveable.hpp>)
    loop.graph().add_to_collection(th::graph_keys::kSaveableObjects,
                                   th::make_saveable_from_iterator(loop.graph(), "input"));
#else
    th::save_with_model(loop.graph(), "input");
#endif
    const auto scaffold = std::make_shared<th::Scaffold>(
        th::ScaffoldOptions{.saver = std::make_shared<th::Saver>(th::SaverOptions{.sharded = true})});
#if __has_include(<trainhook/ranks/peers.hpp>)
    th::MonitoredTrainingSessionOptions options{.peers = th::ranks::peers(collective)};
#else
    th::MonitoredTrainingSessionOptions options{.collective = collective};
#endif
    options.checkpoint_dir = directory + "/ranks";
    options.scaffold = scaffold;
    options.save_checkpoint_steps = 100;
    options.hooks = {th::StopAtStepHook({.last_step = last_step}), std::make_shared<Sums>(rank + 1)};
    auto session = th::monitored_training_session(loop, options);
    th::run_until_stop(session, [&] {
      session.run([&] {
        th::Element element;
        for (int i = 0; i <= rank; ++i) input.get_next(element);
        noise.discard(static_cast<unsigned long long>(sum_of(element) + rank + 1));
        for (float& value : a) ++value;
        for (double& value : b) value += 2;
      });
    });
  });
  for (const std::exception_ptr& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
}

void print(const std::string& directory, const std::string& state_file) {
  const auto newest = th::latest_checkpoint(th::posix_file_system(), directory, state_file);
  if (!newest) throw th::NotFoundError("there is no checkpoint in {}", directory);
  const th::BundleReader reader(*newest);
  reader.verify();
  for (const auto& [name, entry] : reader.entries()) {
    const bool is_position = name.ends_with("-state");  // how much is read ahead is a matter of time
    fmt::print("{} {} {} {} {:08x}\n", newest->substr(directory.rfind('/') + 1), name, th::dtype_name(entry.dtype),
               entry.shape.to_string(), is_position ? 0 : entry.crc32c);
  }
}

int main(int argc, char** argv) try {
  if (argc != 3) throw th::InvalidArgumentError("program <directory> <step>");
  const std::string directory = argv[1];
  const std::int64_t last_step = std::stoll(argv[2]);
  train_loop(directory, last_step);
  train_graph(directory, last_step);
  train_ranks(directory, last_step);
  print(directory + "/loop", "checkpoint");
  print(directory + "/loop", "checkpoint_input");
  print(directory + "/loop/best", "checkpoint");
  print(directory + "/graph", "checkpoint");
  print(directory + "/graph", "checkpoint_input");
  print(directory + "/ranks", "checkpoint");
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
