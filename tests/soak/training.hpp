// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the soak trains: a loop and a graph, with every kind of state that a run has.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/trainhook.hpp>

namespace soak {

namespace th = trainhook;

struct Setup {
  std::string_view name{};
  bool graph = false;  ///< an EigenSession instead of a LoopSession
  bool asynchronous = false;
  bool input_hook = true;  ///< the input's position is in files of its own, else in the model's checkpoint
  std::string directory = "run";
  std::int64_t last_step = 30;
  std::atomic<std::int64_t>* finished = nullptr;  ///< gets each step that is over; signals then end the run
};

/// Publishes the steps that are over.
class FinishedSteps final : public th::SessionRunHook {
 public:
  explicit FinishedSteps(std::atomic<std::int64_t>& finished) : finished_(&finished) {}
  void after_run(th::SessionRunContext& context, const th::SessionRunValues&) override {
    *finished_ = context.global_step();
  }

 private:
  std::atomic<std::int64_t>* finished_;
};

inline const std::array kSetups{
    Setup{.name = "loop, synchronous"},
    Setup{.name = "loop, asynchronous", .asynchronous = true},
    Setup{.name = "graph, synchronous", .graph = true},
    Setup{.name = "graph, asynchronous", .graph = true, .asynchronous = true},
    Setup{.name = "loop, input in the model's checkpoint", .input_hook = false},
};

inline th::MonitoredTrainingSessionOptions session_options(const Setup& setup, th::FileSystem& disk, th::Clock& clock) {
  th::SaverOptions saver{.max_to_keep = 2, .file_system = &disk, .clock = &clock};
  if (!setup.input_hook) saver.kinds.push_back(th::StateKind::Input);
  const auto scaffold =
      std::make_shared<th::Scaffold>(th::ScaffoldOptions{.saver = std::make_shared<th::Saver>(saver)});
  th::CheckpointSaverOptions saving{.checkpoint_dir = setup.directory,
                                    .save_steps = 5,
                                    .scaffold = scaffold,
                                    .save_graph_def = false,
                                    .overlap = th::SaveOverlap::Wait};  // so that the same steps are saved each time
  th::MonitoredTrainingSessionOptions options{.checkpoint_dir = setup.directory,
                                              .scaffold = scaffold,
                                              .save_summaries_steps = 3,
                                              .hooks = {th::StopAtStepHook({.last_step = setup.last_step})},
                                              .file_system = &disk,
                                              .clock = &clock};
  if (setup.asynchronous) {
    options.hooks.push_back(th::AsyncCheckpointSaverHook(std::move(saving)));
  } else {
    options.hooks.push_back(th::CheckpointSaverHook(std::move(saving)));
  }
  if (setup.input_hook) options.hooks.push_back(th::CheckpointInputPipelineHook());
  if (setup.finished != nullptr) {
    options.hooks.push_back(FinishedSteps(*setup.finished));
    options.hooks.push_back(th::SignalHook());
  }
  return options;
}

inline void train_loop(const Setup& setup, th::FileSystem& disk, th::Clock& clock) {
  std::vector<float> weights(3);
  std::vector<float> velocity(3);
  std::mt19937_64 noise(11);
  th::LoopSession loop;
  th::Iterator& numbers = th::make_iterator(loop, th::Dataset::range(40).shuffle(9, 4).repeat(), "numbers");
  loop.variable("weights", weights);
  loop.variable("velocity", velocity);
  loop.state("noise", noise);
  th::summary::scalar("weight", loop.value("weight", [&] { return weights[0]; }));
  auto session = th::monitored_training_session(loop, session_options(setup, disk, clock));
  th::Element element;
  while (!session.should_stop()) {
    session.run([&] {
      numbers.get_next(element);
      const float x = static_cast<float>(element[0].scalar<std::int64_t>());
      for (std::size_t i = 0; i < weights.size(); ++i) {
        velocity[i] = 0.9F * velocity[i] + x + static_cast<float>(noise() % 7);
        weights[i] -= 0.01F * velocity[i];
      }
    });
  }
  session.close();
}

inline void train_graph(const Setup& setup, th::FileSystem& disk, th::Clock& clock) {
  th::Graph graph;
  graph.set_random_seed(5);
  const th::Dataset points = th::Dataset::from_function(60, [](std::int64_t i) {
    const float x = static_cast<float>(i) / 60;
    return th::Element{th::Tensor::of<float>({x}), th::Tensor::of<float>({3 * x - 1})};
  });
  auto [x, y] = th::make_iterator(graph, points.shuffle(20, 7).repeat().batch(4)).get_next<2>();
  const th::Output noisy = th::dropout(th::dense(x, 4, "hidden"), 0.2F);
  const th::Output loss = th::reduce_mean(th::square(th::dense(noisy, 1, "line") - y)).named("loss");
  const th::Operation train =
      th::AdamOptimizer({.learning_rate = 0.05}).minimize(loss, th::get_or_create_global_step(graph));
  th::summary::scalar("training_loss", loss);
  auto session = th::monitored_training_session<th::EigenSession>(graph, session_options(setup, disk, clock));
  th::run_until_stop(session, train);
}

/// Trains to the last step, from the newest checkpoint in the directory.
inline void train(const Setup& setup, th::FileSystem& disk) {
  th::testing::ManualClock clock;
  (setup.graph ? train_graph : train_loop)(setup, disk, clock);
}

}  // namespace soak
