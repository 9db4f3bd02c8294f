// SPDX-License-Identifier: Apache-2.0
/// @file
/// ExponentialMovingAverageHook: averages after a restart with another model, and those of small dtypes.
#include <trainhook/hooks/exponential_moving_average_hook.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using ::testing::ElementsAre;
using Hook = ExponentialMovingAverageHook;

/// Goes on with the run to `last_step`.
void train(testing::MemoryFileSystem& disk, LoopSession& loop, const std::shared_ptr<Hook>& hook,
           std::int64_t last_step, const std::function<void()>& step,
           const std::shared_ptr<const RestorePolicy>& restore = nullptr) {
  MonitoredTrainingSessionOptions options{.checkpoint_dir = "run", .restore = restore, .file_system = &disk};
  options.save_checkpoint_steps = 100;
  options.save_summaries_steps = 0;
  options.log_step_count_steps = 0;
  options.hooks = {StopAtStepHook({.last_step = last_step}), hook};
  auto session = monitored_training_session(loop, options);
  run_until_stop(session, [&] { session.run(step); });
}

/// The averages as numbers, by the names of the variables.
std::map<std::string, std::vector<double>> numbers(const Hook& hook) {
  std::map<std::string, std::vector<double>> found;
  for (const NamedTensor& average : hook.averages()) {
    std::vector<double>& values = found[average.name];
    if (average.tensor.dtype() == DType::Double) {
      for (const double value : average.tensor.data<double>()) values.push_back(value);
    } else {
      for (const float value : average.tensor.data<float>()) values.push_back(static_cast<double>(value));
    }
  }
  return found;
}

TEST(ExponentialMovingAverageHookAfterARestart, AnAverageFollowsTheRulesOfItsVariable) {
  testing::MemoryFileSystem disk;
  {
    std::vector<double> weight(2);
    std::vector<float> table(2);
    LoopSession loop;
    loop.variable("net/weight", weight);
    loop.variable("table", table);
    train(disk, loop, make_hook<Hook>({.decay = 0.5}), 1, [&] {
      weight = {1, 2};
      table = {4, 6};
    });
  }
  std::vector<float> weight(2);
  std::vector<float> table(3, 9);
  LoopSession loop;
  loop.variable("model/weight", weight);
  loop.variable("table", table);
  const auto longer = [](const std::string& name, const Tensor& saved, const Tensor& initial) {
    EXPECT_EQ(name, "table");
    Tensor made = initial;
    for (std::size_t i = 0; i < 2; ++i) made.mutable_data<float>()[i] = saved.data<float>()[i];
    return made;
  };
  const auto hook = make_hook<Hook>({.decay = 0.5});
  train(
      disk, loop, hook, 1, [] {}, RestoreRules{.rename = {{"net/", "model/"}}, .cast = true, .reshape = longer});
  EXPECT_THAT(weight, ElementsAre(1, 2));
  EXPECT_THAT(table, ElementsAre(4, 6, 9));
  auto averages = numbers(*hook);
  EXPECT_THAT(averages["model/weight"], ElementsAre(0.5, 1));
  EXPECT_THAT(averages["table"], ElementsAre(2, 3, 9));
}

TEST(ExponentialMovingAverageHookAfterARestart, APartOfATensorHasItsAverageInAnyCut) {
  testing::MemoryFileSystem disk;
  const auto with_parts = [&](const std::vector<std::int64_t>& rows, std::int64_t last_step) {
    std::vector<std::vector<double>> parts;
    for (const std::int64_t count : rows) parts.emplace_back(static_cast<std::size_t>(2 * count));
    LoopSession loop;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      loop.variable("part_" + std::to_string(i), std::span(parts[i]),
                    {.shape = {rows[i], 2}, .part_of = {.shape = {6, 2}, .offset = {first, 0}, .name = "field"}});
      first += rows[i];
    }
    const auto hook = make_hook<Hook>({.decay = 0.5});
    train(disk, loop, hook, last_step, [&] {
      double value = 0;
      for (std::vector<double>& part : parts)
        for (double& element : part) element = ++value;
    });
    std::vector<double> all;
    for (const auto& [name, values] : numbers(*hook)) all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  const std::vector<double> halves = {0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6};
  EXPECT_EQ(with_parts({2, 4}, 1), halves);
  testing::LogLines log;
  EXPECT_EQ(with_parts({3, 2, 1}, 1), halves);
  EXPECT_EQ(with_parts({6}, 1), halves);
  EXPECT_EQ(log.count("no average of"), 0U);
}

TEST(ExponentialMovingAverageHookAfterARestart, AnAverageThatAnEarlierVersionSavedOfAPartIsTaken) {
  std::vector<double> part(2, 1);
  LoopSession loop;
  loop.variable("upper", std::span(part),
                {.shape = {1, 2}, .part_of = {.shape = {1, 2}, .offset = {0, 0}, .name = "field"}});
  StateValues saved;
  saved.set("updates", Tensor(std::int64_t{3}));
  Tensor average(DType::Double, Shape({1, 2}));
  average.mutable_data<double>()[1] = 5;
  saved.set("average/upper", average);
  const auto hook = make_hook<Hook>({.decay = 0.5});
  const auto load = [&](SessionRef, Coordinator&) { hook->load_state(saved); };
  testing::MemoryFileSystem disk;
  const auto session = monitored_training_session(
      loop, {.hooks = {LambdaHook({.after_create_session = load}), hook}, .file_system = &disk});
  EXPECT_EQ(hook->averages()[0].tensor, average);
}

TEST(ExponentialMovingAverageHookAfterARestart, AveragesOfSmallDtypesAreKeptInFloat) {
  testing::MemoryFileSystem disk;
  std::vector<Half> half{Half{0x3c00}};            // 1
  std::vector<BFloat16> bfloat{BFloat16{0x3f80}};  // 1
  const auto hook = make_hook<Hook>({.decay = 0.999});
  const auto go_to = [&](std::int64_t last_step, const std::shared_ptr<Hook>& averaging) {
    LoopSession loop;
    loop.variable("half", half);
    loop.variable("bfloat", bfloat);
    train(disk, loop, averaging, last_step, [&] {
      half[0] = Half{0x3c01};        // the next number
      bfloat[0] = BFloat16{0x3f81};  // the next number
    });
  };
  go_to(100, hook);
  auto averages = numbers(*hook);
  EXPECT_NEAR(averages["half"][0], 1 + (1 - std::pow(0.999, 100)) / 1024, 1e-5);
  EXPECT_NEAR(averages["bfloat"][0], 1 + (1 - std::pow(0.999, 100)) / 128, 1e-5);
  const auto resumed = make_hook<Hook>({.decay = 0.999});
  go_to(100, resumed);
  EXPECT_EQ(numbers(*resumed), averages);
}

/// Looks at a variable while it has its average.
struct SwappingHook final : SessionRunHook {
  SwappingHook(std::shared_ptr<Hook> averages, const std::vector<Half>& variable)
      : hook(std::move(averages)), watched(&variable) {}
  void end(SessionRef) override {
    const auto swapped = hook->use_averages();
    seen = watched->front();
  }
  std::shared_ptr<Hook> hook;
  const std::vector<Half>* watched;
  Half seen{};
};

TEST(ExponentialMovingAverageHookAfterARestart, TheSessionHasTheAveragesOfSmallDtypesInThoseDtypes) {
  testing::MemoryFileSystem disk;
  std::vector<Half> half{Half{0x3c00}};  // 1
  LoopSession loop;
  loop.variable("half", half);
  const auto hook = make_hook<Hook>({.decay = 0.5});
  const auto swapping = std::make_shared<SwappingHook>(hook, half);
  auto session = monitored_training_session(
      loop, {.hooks = {StopAtStepHook({.last_step = 1}), hook, swapping}, .file_system = &disk});
  run_until_stop(session, [&] { session.run([&] { half[0] = Half{0x4000}; }); });  // 2
  EXPECT_EQ(swapping->seen, Half{0x3e00});                                         // 1.5
  EXPECT_EQ(half[0], Half{0x4000});
}

}  // namespace
}  // namespace trainhook
