// SPDX-License-Identifier: Apache-2.0
/// @file
/// Graphs with an optimizer that begin from the checkpoint of another model, by RestoreRules.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/nn.hpp>
#include <trainhook/model/ops/random.hpp>
#include <trainhook/model/optimizers.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using Floats = std::vector<float>;

struct Weights {
  std::string name;
  Shape shape;
  double initial;
};

/// A graph of weights that an Adam pulls to 0.
struct Program {
  Program(testing::MemoryFileSystem& file_system, DType dtype, const std::vector<Weights>& all) : disk(file_system) {
    std::optional<Output> loss;
    for (const Weights& each : all) {
      const Variable variable = get_variable(graph, each.name, each.shape,
                                             {.dtype = dtype, .initializer = constant_initializer(each.initial)});
      loss = loss ? *loss + l2_loss(variable) : l2_loss(variable);
    }
    train = AdamOptimizer({.learning_rate = 0.1}).minimize(*loss, get_or_create_global_step(graph));
  }
  void run(const std::string& directory, const RestoreRules* rules, int steps) {
    MonitoredTrainingSessionOptions options{
        .checkpoint_dir = directory, .save_checkpoint_steps = 1, .file_system = &disk, .clock = &clock};
    if (rules != nullptr) options.restore = *rules;
    auto session = monitored_training_session<EigenSession>(graph, options);
    began_at = session.global_step();
    for (const Variable& variable : global_variables(graph)) {
      const Tensor value = session.raw_session().run(variable.read);
      if (value.dtype() != DType::Float) continue;
      began_with[variable.name()] = Floats(value.data<float>().begin(), value.data<float>().end());
    }
    for (int i = 0; i < steps; ++i) session.run(train);
    session.close();
  }

  testing::MemoryFileSystem& disk;
  testing::ManualClock clock;
  Graph graph;
  Operation train;
  std::int64_t began_at = -1;
  std::map<std::string, Floats> began_with;  ///< the variables of float32
};

struct RestoringGraph : ::testing::Test {
  RestoringGraph() {
    Program(disk, DType::Double, {{"encoder/embedding", {2, 2}, 1}, {"encoder/w", {3}, 2}}).run("before", nullptr, 2);
  }
  Program changed() {
    return {
        disk, DType::Float, {{"net/encoder/embedding", {3, 2}, 7}, {"net/encoder/w", {3}, 8}, {"net/head", {2}, 9}}};
  }
  /// What was saved, rounded.
  Floats saved(const std::string& name) {
    const Tensor value = load_checkpoint(disk, "before").get_tensor(name);
    return {value.data<double>().begin(), value.data<double>().end()};
  }
  /// The rows that were saved, and behind them those of the initial value.
  static Tensor grown(const std::string& name, const Tensor& saved, Tensor initial) {
    if (!name.starts_with("net/encoder/embedding")) throw InvalidArgumentError("'{}' has not grown", name);
    std::ranges::copy(saved.data<float>(), initial.mutable_data<float>().begin());
    return initial;
  }

  testing::MemoryFileSystem disk;
  RestoreRules rules{.from = "before",
                     .rename = {{"encoder", "net/encoder"}},
                     .missing = Missing::KeepInitial,
                     .cast = true,
                     .reshape = grown};
};

TEST_F(RestoringGraph, BeginsWithTheVariablesOfAnotherModelAndWithTheirSlots) {
  Program now = changed();
  now.run("run", &rules, 0);
  EXPECT_EQ(now.began_at, 2);
  for (const std::string slot : {"", "/Adam", "/Adam_1"}) {
    SCOPED_TRACE(slot);
    EXPECT_EQ(now.began_with.at("net/encoder/w" + slot), saved("encoder/w" + slot));
    Floats embedding = saved("encoder/embedding" + slot);
    embedding.resize(6, slot.empty() ? 7.F : 0.F);
    EXPECT_EQ(now.began_with.at("net/encoder/embedding" + slot), embedding);
    EXPECT_EQ(now.began_with.at("net/head" + slot), Floats(2, slot.empty() ? 9.F : 0.F));
  }
  EXPECT_EQ(now.began_with.at("beta1_power")[0],
            load_checkpoint(disk, "before").get_tensor("beta1_power").scalar<float>());
  EXPECT_NE(saved("encoder/w/Adam"), Floats(3, 0));
}

TEST_F(RestoringGraph, GoesOnFromItsOwnCheckpoints) {
  changed().run("run", &rules, 1);
  Program again = changed();
  again.run("run", &rules, 0);
  EXPECT_EQ(again.began_at, 3);
  EXPECT_LT(again.began_with.at("net/head")[0], 9);
}

TEST_F(RestoringGraph, WritesEachDifferenceToTheRecordOfTheRun) {
  changed().run("run", &rules, 0);
  const std::string notes = detail::read_run_record(disk, "run")->restored;
  for (const char* const note :
       {"from before/model.ckpt-2: 'encoder' is 'net/encoder' here, in 6 names; ",
        "'net/encoder/embedding/Adam' has shape [2,2] there and [3,2] here: `reshape` made its value",
        "'net/encoder/w/Adam_1' is float64 there and float32 here: ",
        "'net/head/Adam' is not in it and keeps its initial value"})
    EXPECT_NE(notes.find(note), std::string::npos) << note << " in " << notes;
}

TEST_F(RestoringGraph, IsRefusedIfOneRuleIsLacking) {
  RestoreRules strict = rules;
  strict.missing = Missing::Fail;
  EXPECT_THROW(changed().run("run", &strict, 0), NotFoundError);
  strict = rules;
  strict.cast = false;
  EXPECT_THROW(changed().run("run", &strict, 0), InvalidArgumentError);
  strict = rules;
  strict.reshape = {};
  EXPECT_THROW(changed().run("run", &strict, 0), InvalidArgumentError);
}

/// A graph whose random op has this name, in a session that saves or does not.
void run_noise(testing::MemoryFileSystem& disk, const std::string& name, bool saves) {
  testing::ManualClock clock;
  Graph graph;
  get_or_create_global_step(graph);
  const Output noise = random_uniform(graph, {}, {}, name);
  auto session = monitored_training_session<EigenSession>(graph, {.checkpoint_dir = "run",
                                                                  .save_checkpoint_steps = saves ? 1 : 0,
                                                                  .save_summaries_steps = 0,
                                                                  .file_system = &disk,
                                                                  .clock = &clock});
  session.run(noise);
  session.close();
}

TEST(RestoringGenerators, AResumeThatLacksThatOfARandomOpIsAnError) {
  testing::MemoryFileSystem disk;
  run_noise(disk, "noise", true);
  testing::expect_error<NotFoundError>(
      {"checkpoint run/model.ckpt-0 has no generator '_trainhook/random/sound/RandomUniform'", "Missing::KeepInitial"},
      [&] { run_noise(disk, "sound", true); });
}

TEST(RestoringGenerators, OneLineNamesThoseThatASessionWithoutSavesLacks) {
  testing::MemoryFileSystem disk;
  run_noise(disk, "noise", true);
  testing::LogLines log;
  run_noise(disk, "sound", false);
  EXPECT_EQ(
      log.count(
          "W checkpoint run/model.ckpt-0 has nothing for 1 generator of random ops, which will not go on as before: "
          "'_trainhook/random/sound/RandomUniform'"),
      1U);
}

TEST(RestoringGenerators, ACheckpointOfAnotherProgramNeedNotHaveThem) {
  testing::MemoryFileSystem disk;
  BundleWriter writer("run/model.ckpt-3", {.file_system = &disk});
  writer.add("global_step", Tensor(std::int64_t{3}));
  writer.finish();
  testing::LogLines log;
  run_noise(disk, "sound", true);
  EXPECT_EQ(log.count("W checkpoint run/model.ckpt-3 has nothing for 1 generator of random ops"), 1U);
}

/// Loses the session when it is told to.
struct Losing final : SessionRunHook {
  SessionRunArgs before_run(SessionRunContext& /*context*/) override {
    if (std::exchange(lose, false)) throw AbortedError("lost");
    return {};
  }
  bool lose = false;
};

/// A graph that has a rate, which a restart may change.
struct Rated {
  explicit Rated(float initial) : rate(make_variable("rate", constant(graph, Tensor(initial)))) {
    keep_initial(graph, rate.name());
    const Variable step = get_or_create_global_step(graph);
    train = assign_add(step, constant(graph, Tensor(std::int64_t{1}))).operation();
    slow_down = assign(rate, constant(graph, Tensor(0.125F))).operation();
  }
  // The rates at which a run of a few steps begins, and after a loss of its session.
  Floats rates_of_run(testing::MemoryFileSystem& disk, bool saves_before_the_loss) {
    testing::ManualClock clock;
    const auto losing = std::make_shared<Losing>();
    auto session = monitored_training_session<EigenSession>(graph, {.checkpoint_dir = "run",
                                                                    .save_checkpoint_steps = 2,
                                                                    .hooks = {losing},
                                                                    .file_system = &disk,
                                                                    .clock = &clock});
    Floats rates{session.raw_session().run(rate.read).scalar<float>()};
    session.run(slow_down);
    for (int i = 0; i < (saves_before_the_loss ? 3 : 1); ++i) session.run(train);
    losing->lose = true;
    session.run(train);
    rates.push_back(session.raw_session().run(rate.read).scalar<float>());
    session.close();
    return rates;
  }
  Graph graph;
  Variable rate;
  Operation train, slow_down;
};

TEST(GraphThatKeepsInitialValues, BeginsWithThemAndGetsBackWhatItsOwnCheckpointHas) {
  testing::MemoryFileSystem disk;
  const testing::LogLines log;
  EXPECT_EQ(Rated(0.5F).rates_of_run(disk, true), (Floats{0.5F, 0.125F}));
  EXPECT_EQ(Rated(0.25F).rates_of_run(disk, false), (Floats{0.25F, 0.25F}));
  EXPECT_EQ(log.count("'rate' is float32[] 0.25 here and was float32[] 0.125 there"), 1U);
  EXPECT_EQ(Rated(2).rates_of_run(disk, true), (Floats{2, 0.125F}));
}

}  // namespace
}  // namespace trainhook
