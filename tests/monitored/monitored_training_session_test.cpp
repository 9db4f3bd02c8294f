// SPDX-License-Identifier: Apache-2.0
/// @file
/// Training programs that end, are killed, lost, poisoned and started again.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <graph_export_double.hpp>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/step_counter_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/recording_writer.hpp>

namespace trainhook {
namespace {

/// Counts its runs over restarts.
class CountingHook final : public SessionRunHook {
 public:
  void after_run(SessionRunContext&, const SessionRunValues&) override { ++runs; }
  StateValues save_state() override {
    StateValues state;
    state.set("runs", Tensor(runs));
    return state;
  }
  void load_state(const StateValues& state) override { runs = state.at("runs").scalar<std::int64_t>(); }
  std::int64_t runs = 0;
};

/// A training program that is started again and again on one disk.
class Program {
 public:
  Program(testing::MemoryFileSystem& disk, testing::ManualClock& clock) : disk_(&disk), clock_(&clock) {
    loop.variable("weights", weights);
    loop.state("noise", noise);
    watched = loop.value("loss", [this] { return loss; });
  }
  MonitoredTrainingSessionOptions options(HookList hooks) {
    MonitoredTrainingSessionOptions all{
        .checkpoint_dir = "run", .save_checkpoint_steps = 10, .hooks = std::move(hooks)};
    all.file_system = disk_;
    all.clock = clock_;
    return all;
  }
  void step() {
    weights[0] = 0.9F * weights[0] + std::uniform_real_distribution<float>()(noise);
    weights[1] += weights[0];
    loss = weights[1];
  }

  std::vector<float> weights = {0, 0};
  std::mt19937_64 noise{7};
  float loss = 1;
  LoopSession loop;
  Output watched;

 private:
  testing::MemoryFileSystem* disk_;
  testing::ManualClock* clock_;
};

class MonitoredTrainingSessionTest : public ::testing::Test {
 protected:
  ~MonitoredTrainingSessionTest() override { set_log_sink(previous_sink); }

  std::int64_t saved_step() {
    return BundleReader(*latest_checkpoint(disk, "run"), {.file_system = &disk})
        .get_tensor("global_step")
        .scalar<std::int64_t>();
  }
  std::vector<std::string> checkpoints() { return checkpoints_on_disk(disk, "run", "model.ckpt"); }
  /// The tag of every summary in the directory's event files.
  static std::multiset<std::string> tags_in(const std::string& directory, testing::MemoryFileSystem& of) {
    std::multiset<std::string> tags;
    if (!of.is_directory(directory)) return tags;
    for (const std::string& name : of.list_directory(directory)) {
      if (name.find("tfevents") == std::string::npos) continue;
      for (const Event& event : read_events(of, join_path(directory, name)).events) {
        for (const SummaryValue& value : event.values) tags.insert(value.tag);
      }
    }
    return tags;
  }
  std::multiset<std::string> tags_in(const std::string& directory) { return tags_in(directory, disk); }
  void train(int steps) {
    Program program(disk, clock);
    auto session = monitored_training_session(program.loop, program.options({StopAtStepHook({.num_steps = steps})}));
    run_until_stop(session, [&] { session.run([&] { program.step(); }); });
  }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

TEST_F(MonitoredTrainingSessionTest, M011_RestoresWhatTheLastSessionEndedWith) {
  train(2);
  EXPECT_EQ(saved_step(), 2);
  train(3);
  EXPECT_EQ(saved_step(), 5);
}

TEST_F(MonitoredTrainingSessionTest, M012_SavesEverySoManySteps) {
  train(25);
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{"run/model.ckpt-0", "run/model.ckpt-10", "run/model.ckpt-20",
                                                     "run/model.ckpt-25"}));
}

TEST_F(MonitoredTrainingSessionTest, M015_WritesSummariesAndStepsPerSecond) {
  Program program(disk, clock);
  summary::scalar("my_summary_tag", program.watched);
  auto options = program.options({StopAtStepHook({.last_step = 101})});
  options.save_summaries_steps = 100;
  options.log_step_count_steps = 10;
  auto session = monitored_training_session(program.loop, std::move(options));
  run_until_stop(session, [&] {
    clock.advance(std::chrono::milliseconds(100));
    session.run([&] { program.step(); });
  });
  const std::multiset<std::string> tags = tags_in("run");
  EXPECT_EQ(std::set(tags.begin(), tags.end()), (std::set<std::string>{"my_summary_tag", "global_step/sec"}));
}

TEST_F(MonitoredTrainingSessionTest, EachDirectoryThatGetsSummariesHasAStartRecordOfEachStart) {
  for (const int life : {1, 2}) {
    Program program(disk, clock);
    auto options = program.options({StepCounterHook({.every_n_steps = 2, .output_dir = "speed"})});
    options.summary_dir = "summaries";
    auto session = monitored_training_session(program.loop, std::move(options));
    for (int i = 0; i < 13; ++i) {
      clock.advance(std::chrono::milliseconds(100));
      session.run([&] { program.step(); });
    }
    if (life == 1) session.abort(nullptr);  // dies after the checkpoint of step 10
  }
  std::vector<std::string> starts = testing::event_lines(disk, "speed");
  std::erase_if(starts, [](const std::string& line) { return !line.ends_with("START"); });
  EXPECT_EQ(starts, (std::vector<std::string>{"1 START", "11 START"}));
}

TEST_F(MonitoredTrainingSessionTest, ARunThatLosesPowerAnywhereEndsWithTheBitsOfOneThatDoesNot) {
  train(100);
  const Tensor whole = BundleReader("run/model.ckpt-100", {.file_system = &disk}).get_tensor("weights");
  const std::string whole_data = disk.contents("run/model.ckpt-100.data-00000-of-00001");
  for (const int lost_at : {3, 10, 11, 37, 99}) {
    testing::MemoryFileSystem other;
    {
      Program program(other, clock);
      auto session = monitored_training_session(program.loop, program.options({}));
      for (int i = 0; i < lost_at; ++i) session.run([&] { program.step(); });
      other.crash();
      session.abort(nullptr);
    }
    Program program(other, clock);
    auto session = monitored_training_session(program.loop, program.options({StopAtStepHook({.last_step = 100})}));
    run_until_stop(session, [&] { session.run([&] { program.step(); }); });
    EXPECT_EQ(BundleReader("run/model.ckpt-100", {.file_system = &other}).get_tensor("weights"), whole) << lost_at;
    EXPECT_EQ(other.contents("run/model.ckpt-100.data-00000-of-00001"), whole_data) << lost_at;
  }
}

TEST_F(MonitoredTrainingSessionTest, HookStateComesBackWithTheModel) {
  const auto counting = std::make_shared<CountingHook>();
  {
    Program program(disk, clock);
    auto session = monitored_training_session(program.loop, program.options({counting}));
    for (int i = 0; i < 15; ++i) session.run([&] { program.step(); });
    session.abort(nullptr);  // dies between two saves
  }
  const auto again = std::make_shared<CountingHook>();
  Program program(disk, clock);
  const auto session = monitored_training_session(program.loop, program.options({again}));
  EXPECT_EQ(again->runs, 10);
}

TEST_F(MonitoredTrainingSessionTest, StateOfAHookThatIsGoneIsKeptForItsReturn) {
  {
    Program program(disk, clock);
    auto session = monitored_training_session(program.loop, program.options({CountingHook()}));
    for (int i = 0; i < 5; ++i) session.run([&] { program.step(); });
    session.close();
  }
  train(5);  // without the hook
  EXPECT_NE(log.find("state of a hook 'CountingHook' that the session does not have"), std::string::npos);
  const auto again = std::make_shared<CountingHook>();
  Program program(disk, clock);
  const auto session = monitored_training_session(program.loop, program.options({again}));
  EXPECT_EQ(again->runs, 5);
}

TEST_F(MonitoredTrainingSessionTest, S13_AVetoKeepsPoisonedWeightsOutOfEveryCheckpoint) {
  Program program(disk, clock);
  auto session = monitored_training_session(
      program.loop, program.options({NanTensorHook(program.watched, {.fail_on_nan_loss = false})}));
  run_until_stop(session, [&] {
    session.run([&] {
      program.step();
      if (read_global_step(session.raw_session(), *get_global_step(session.graph())) == 19)
        program.loss = std::numeric_limits<float>::quiet_NaN();
    });
  });
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{"run/model.ckpt-0", "run/model.ckpt-10"}));
}

TEST_F(MonitoredTrainingSessionTest, M013_SavesEverySoManySeconds) {
  Program program(disk, clock);
  auto options = program.options({});
  options.save_checkpoint_steps = std::nullopt;
  options.save_checkpoint_secs = std::chrono::milliseconds(100);
  auto session = monitored_training_session(program.loop, std::move(options));
  session.run([&] { program.step(); });
  clock.advance(std::chrono::milliseconds(200));
  for (int i = 0; i < 10; ++i) session.run([&] { program.step(); });
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{"run/model.ckpt-0", "run/model.ckpt-2"}));
  session.close();
  EXPECT_EQ(saved_step(), 11);
}

TEST_F(MonitoredTrainingSessionTest, M014_ACheckpointGoesBeforeWhatTheInitFunctionLoads) {
  const auto start = [&](Program& program) {
    auto options = program.options({});
    options.scaffold = std::make_shared<Scaffold>(ScaffoldOptions{.init_fn = [&program](const Scaffold&, SessionRef) {
      program.weights[0] = 5;  // as if from an exported model
    }});
    return monitored_training_session(program.loop, std::move(options));
  };
  {
    Program program(disk, clock);
    auto session = start(program);
    session.run([&] { program.weights[0] += 1; });
    EXPECT_EQ(program.weights[0], 6);
    session.run([&] { program.weights[0] += 1; });
    session.close();
  }
  Program program(disk, clock);
  auto session = start(program);
  session.run([&] { program.weights[0] += 1; });
  EXPECT_EQ(program.weights[0], 8);
}

TEST_F(MonitoredTrainingSessionTest, M016_WritesSummariesEverySoManySeconds) {
  Program program(disk, clock);
  summary::scalar("my_summary_tag", program.watched);
  auto options = program.options({StopAtStepHook({.last_step = 102})});
  options.save_summaries_secs = std::chrono::milliseconds(100);
  options.log_step_count_steps = 10;
  auto session = monitored_training_session(program.loop, std::move(options));
  std::int64_t step = 0;
  run_until_stop(session, [&] {
    if (++step == 2) clock.advance(std::chrono::milliseconds(200));
    clock.advance(std::chrono::microseconds(1));
    session.run([&] { program.step(); });
  });
  EXPECT_EQ(tags_in("run"),
            (std::multiset<std::string>{"my_summary_tag", "my_summary_tag", "global_step/sec", "global_step/sec",
                                        "global_step/sec", "global_step/sec", "global_step/sec", "global_step/sec",
                                        "global_step/sec", "global_step/sec", "global_step/sec", "global_step/sec"}));
}

TEST_F(MonitoredTrainingSessionTest, M018_WritesAnExportedGraphAtOnceAndAMetaFileWithEachCheckpoint) {
  const auto metas = [&](const std::string& directory) {
    std::size_t count = 0;
    for (const std::string& name : disk.list_directory(directory)) count += name.ends_with(".meta") ? 1U : 0U;
    return count;
  };
  Program program(disk, clock);
  program.loop.export_graph(support::kGraphExportDouble);
  auto options = program.options({});
  options.save_checkpoint_steps = 1;
  auto session = monitored_training_session(program.loop, std::move(options));
  EXPECT_TRUE(disk.exists("run/graph.pbtxt"));
  EXPECT_EQ(metas("run"), 1U);
  session.run([&] { program.step(); });
  EXPECT_EQ(metas("run"), 2U);
  session.close();

  for (const bool exports : {true, false}) {
    Program without(disk, clock);
    if (exports) without.loop.export_graph(support::kGraphExportDouble);
    auto no_graph = without.options({});
    no_graph.checkpoint_dir = exports ? "elsewhere" : "plain";
    no_graph.save_graph_def = !exports;
    const std::string directory = no_graph.checkpoint_dir;
    monitored_training_session(without.loop, std::move(no_graph)).close();
    EXPECT_FALSE(disk.exists(directory + "/graph.pbtxt"));
    EXPECT_EQ(metas(directory), 0U);
  }
}

TEST_F(MonitoredTrainingSessionTest, M020_M021_M022_S37_SummariesAndCheckpointsAreSwitchedOffIndependently) {
  for (const bool summaries : {true, false}) {
    for (const bool saves : {true, false}) {
      testing::MemoryFileSystem own;
      Program program(own, clock);
      summary::scalar("my_summary_tag", program.watched);
      auto options = program.options({StopAtStepHook({.last_step = 101})});
      options.save_summaries_steps = summaries ? 100 : 0;
      options.log_step_count_steps = summaries ? 10 : 0;
      options.save_checkpoint_steps = saves ? 100 : 0;
      auto session = monitored_training_session(program.loop, std::move(options));
      run_until_stop(session, [&] {
        clock.advance(std::chrono::milliseconds(1));
        session.run([&] { program.step(); });
      });
      EXPECT_EQ(tags_in("run", own).contains("my_summary_tag"), summaries);
      EXPECT_EQ(tags_in("run", own).contains("global_step/sec"), summaries);
      EXPECT_EQ(latest_checkpoint(own, "run").has_value(), saves);
    }
  }
}

TEST_F(MonitoredTrainingSessionTest, S15_APeriodOfZeroIsOffAndTheOtherCounts) {
  Program program(disk, clock);
  auto options = program.options({});
  options.save_checkpoint_secs = std::chrono::seconds(0);
  options.save_checkpoint_steps = 2;
  auto session = monitored_training_session(program.loop, std::move(options));
  for (int i = 0; i < 4; ++i) session.run([&] { program.step(); });
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{"run/model.ckpt-0", "run/model.ckpt-2", "run/model.ckpt-4"}));

  Program both(disk, clock);
  auto two_periods = both.options({});
  two_periods.save_checkpoint_secs = std::chrono::seconds(5);
  try {
    (void)monitored_training_session(both.loop, std::move(two_periods));
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "monitored_training_session: save_checkpoint_secs and save_checkpoint_steps are both given; give one, "
                 "or 0 for the other");
  }
}

TEST_F(MonitoredTrainingSessionTest, TheChiefsOwnHooksComeFirst) {
  Program program(disk, clock);
  const auto trace = std::make_shared<testing::Trace>();
  auto options = program.options({testing::RecordingHook(trace, {.name = "user"})});
  options.chief_only_hooks = {testing::RecordingHook(trace, {.name = "chief"})};
  monitored_training_session(program.loop, std::move(options)).close();
  EXPECT_EQ(trace->lines(),
            "chief.begin\nuser.begin\nchief.after_create_session\nuser.after_create_session\nchief.end\nuser.end\n");
}

TEST_F(MonitoredTrainingSessionTest, S14_TwoSaversForOneDirectoryAreAnErrorThatNamesIt) {
  Program program(disk, clock);
  try {
    const auto session = monitored_training_session(
        program.loop, program.options({CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 5})}));
    FAIL();
  } catch (const InvalidArgumentError& error) { EXPECT_NE(std::string(error.what()).find("run"), std::string::npos); }
}

TEST_F(MonitoredTrainingSessionTest, AFinishedRunThatIsStartedAgainTrainsNothingAndLeavesEveryFileAlone) {
  const auto run_to_20 = [&] {
    Program program(disk, clock);
    auto session = monitored_training_session(program.loop, program.options({StopAtStepHook({.last_step = 20})}));
    run_until_stop(session, [&] { session.run([&] { program.step(); }); });
  };
  const auto files = [&] {
    std::map<std::string, std::string> contents;
    for (const std::string& name : disk.list_directory("run")) contents[name] = disk.contents(join_path("run", name));
    return contents;
  };
  run_to_20();
  const auto before = files();
  clock.advance(std::chrono::hours(1));
  run_to_20();
  EXPECT_EQ(files(), before);
}

TEST_F(MonitoredTrainingSessionTest, S43_ADirectoryWithoutACheckpointIsNoneToResumeFrom) {
  for (const bool require_checkpoint : {true, false}) {
    Program program(disk, clock);
    auto options = program.options({});
    options.save_checkpoint_steps = 0;  // the directory stays without one
    program.loop.init([&] { program.weights = {0, 0}; });
    options.retry.require_checkpoint = require_checkpoint;
    auto session = monitored_training_session(program.loop, std::move(options));
    int runs = 0;
    const auto lose_the_third = [&] {
      program.step();
      if (++runs == 3) throw UnavailableError("gone");
    };
    for (int i = 0; i < 2; ++i) session.run(lose_the_third);
    if (require_checkpoint) {
      EXPECT_THROW(session.run(lose_the_third), UnavailableError);
      EXPECT_NE(log.find("the retry policy requires one"), std::string::npos);
    } else {
      EXPECT_NO_THROW(session.run(lose_the_third));
      EXPECT_NE(log.find("there was no checkpoint to resume from: training starts again from initial values"),
                std::string::npos);
    }
  }
}

TEST_F(MonitoredTrainingSessionTest, S2_ALostLoopContinuesFromItsCheckpointAndReportsTheStepsLost) {
  Program program(disk, clock);
  auto options = program.options({StopAtStepHook({.last_step = 30})});
  std::vector<Recovery> recoveries;
  options.retry.on_recovery = [&](const Recovery& recovery) { recoveries.push_back(recovery); };
  auto session = monitored_training_session(program.loop, std::move(options));
  bool failed = false;
  run_until_stop(session, [&] {
    session.run([&] {
      program.step();
      if (!failed && read_global_step(session.raw_session(), *get_global_step(session.graph())) == 17) {
        failed = true;
        throw UnavailableError("the device fell off the bus");
      }
    });
  });
  ASSERT_EQ(recoveries.size(), 1U);
  EXPECT_EQ(recoveries[0].lost_at, 17);
  EXPECT_EQ(recoveries[0].resumed_at, 10);
  EXPECT_EQ(saved_step(), 30);
}

/// Has state, which it may fail to take back.
class LoadingHook final : public SessionRunHook {
 public:
  LoadingHook(std::string name, std::string& trace, bool fails)
      : name_(std::move(name)), trace_(&trace), fails_(fails) {}
  std::string name() const override { return name_; }
  StateValues save_state() override { return StateValues({{"x", Tensor(1.0F)}}); }
  void load_state(const StateValues&) override {
    *trace_ += name_ + ".load_state\n";
    if (fails_) throw InvalidArgumentError("not this state");
  }
  void end(SessionRef) override { *trace_ += name_ + ".end\n"; }
  void abort(const std::exception_ptr& error) noexcept override {
    *trace_ += name_ + ".abort: " + describe(error) + "\n";
  }

 private:
  std::string name_;
  std::string* trace_;
  bool fails_;
};

TEST_F(MonitoredTrainingSessionTest, AHookThatCannotTakeItsStateBackEndsTheCreationAndAllHooksAreToldOfIt) {
  const auto train_with = [this](std::size_t failing) {
    std::string trace;
    Program program(disk, clock);
    HookList hooks = {StopAtStepHook({.num_steps = 1})};
    for (std::size_t i = 0; i < 3; ++i)
      hooks.push_back(LoadingHook(std::string(1, static_cast<char>('a' + i)), trace, i == failing));
    try {
      auto session = monitored_training_session(program.loop, program.options(std::move(hooks)));
      run_until_stop(session, [&] { session.run([&] { program.step(); }); });
    } catch (const InvalidArgumentError& error) { trace += std::string("caller: ") + error.what() + "\n"; }
    return trace;
  };
  EXPECT_EQ(train_with(3), "a.end\nb.end\nc.end\n");
  const std::string loads = "a.load_state\nb.load_state\nc.load_state\n";
  for (std::size_t failing = 0; failing < 3; ++failing) {
    const std::string error =
        fmt::format("restoring run/model.ckpt-{}: hook '{}' failed in load_state: not this state\n", failing + 1,
                    static_cast<char>('a' + failing));
    EXPECT_EQ(train_with(failing), loads.substr(0, 13 * (failing + 1)) + "c.abort: InvalidArgument: " + error +
                                       "b.abort: InvalidArgument: " + error + "a.abort: InvalidArgument: " + error +
                                       "caller: " + error);
    EXPECT_EQ(saved_step(), static_cast<std::int64_t>(failing) + 1) << "nothing is saved, and nothing lost";
    EXPECT_EQ(train_with(3), loads + "a.end\nb.end\nc.end\n");
  }
}

}  // namespace
}  // namespace trainhook
