// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointInputPipelineHook: model and input always come back together, whatever was interrupted when.
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/saving/checkpoint_saver_options.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/monitored/session_manager.hpp>
#include <trainhook/testing/faulty_file_system.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using Lines = std::vector<std::string>;
using testing::FileOperation;

Dataset ten_numbers() { return Dataset::range(10); }

/// One process that trains on a pipeline: each step takes the next element, 0, 1, 2, ... It is restored as a monitored
/// session restores.
struct Fed : support::TrainingDouble {
  explicit Fed(support::Outside& outside, FileSystem* slow_disk = nullptr)
      : TrainingDouble(outside),
        saver(std::make_shared<Saver>(SaverOptions{.max_to_keep = 2, .file_system = slow_disk})) {
    make_iterator(graph, ten_numbers());
    script.input_state("IteratorV2-state", Tensor(std::int64_t{0}));
    script.variable("latest_feature", Tensor(std::int64_t{-1}));
    train = script.operation("train", [this] {
      const std::int64_t position = next_element();
      model.variable("latest_feature") = Tensor(position);
      model.variable("IteratorV2-state") = Tensor(position + 1);
      set_step(step() + 1);
    });
  }

  Fed& start_training(std::int64_t save_steps = 2, CheckpointInputPipelineHook::Options options = {}) {
    add(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = save_steps, .saver = saver}));
    return start_with_input(std::move(options));
  }
  Fed& start_with_input(CheckpointInputPipelineHook::Options options = {}) {
    add(CheckpointInputPipelineHook(std::move(options)));
    begin();
    restore_newest();
    create();
    return *this;
  }
  void restore_newest() {
    graph.unfinalize();
    Scaffold scaffold({.saver = saver});
    scaffold.finalize(graph);
    saver->use(services.file_system(), services.clock());
    SessionManager manager({.file_system = &services.file_system()});
    services.start_session(manager
                               .prepare_session([this] { return OwnedSession{.session = model}; },
                                                {.saver = saver, .checkpoint_dir = "run"})
                               .restored_from);
    report = manager.report();
  }
  void train_steps(int steps) {
    for (int i = 0; i < steps; ++i) run(train);
  }
  [[nodiscard]] std::int64_t next_element() { return model.variable("IteratorV2-state").scalar<std::int64_t>(); }
  [[nodiscard]] std::int64_t latest() { return model.variable("latest_feature").scalar<std::int64_t>(); }

  std::shared_ptr<Saver> saver;
  Operation train;
  RestoreReport report;
};

Lines input_files(support::Outside& outside) {
  Lines names = support::files_with(outside.disk, "run", "input.ckpt");
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".index"); });
  return names;
}

TEST(CheckpointInputPipelineHook, I01_ADatasetHandedToALoopContinuesFromItsPosition) {
  support::LogLines log;
  support::Outside outside;
  for (std::int64_t life = 1; life <= 2; ++life) {
    LoopSession loop;
    std::int64_t latest_feature = -1;
    loop.variable("latest_feature", latest_feature);
    Iterator& features = make_iterator(loop, ten_numbers());
    auto session =
        monitored_training_session(loop, {.checkpoint_dir = "run",
                                          .save_checkpoint_steps = 100,
                                          .hooks = {CheckpointInputPipelineHook(), StopAtStepHook({.num_steps = 2})},
                                          .file_system = &outside.disk,
                                          .clock = &outside.clock});
    Element element;
    run_until_stop(session, [&] {
      session.run([&] {
        features.get_next(element);
        latest_feature = element.at(0).scalar<std::int64_t>();
      });
    });
    const std::string newest = latest_checkpoint(outside.disk, "run").value();
    EXPECT_EQ(support::saved_step(outside.disk, newest), 2 * life);
    EXPECT_EQ(support::saved_step(outside.disk, newest, "latest_feature"), 2 * life - 1);
  }
}

TEST(CheckpointInputPipelineHook, TheInputIsRestoredBeforeTheFirstStepFunction) {
  support::LogLines log;
  support::Outside outside;
  std::vector<std::int64_t> trained;
  for (int life = 1; life <= 2; ++life) {
    LoopSession loop;
    Iterator& features = make_iterator(loop, ten_numbers());
    auto session =
        monitored_training_session(loop, {.checkpoint_dir = "run",
                                          .save_checkpoint_steps = 100,
                                          .hooks = {CheckpointInputPipelineHook(), StopAtStepHook({.num_steps = 2})},
                                          .file_system = &outside.disk,
                                          .clock = &outside.clock});
    run_until_stop(session, [&] {
      session.run_step_fn([&](StepContext<LoopSession>& step) {
        Element element;
        features.get_next(element);  // before hooks are told of the step
        step.run_with_hooks().run([&] { trained.push_back(element.at(0).scalar<std::int64_t>()); });
      });
    });
  }
  EXPECT_EQ(trained, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(CheckpointInputPipelineHook, I02_AnIteratorOfTheGraphContinuesFromItsPosition) {
  support::LogLines log;
  support::Outside outside;
  for (int life = 1; life <= 2; ++life) {
    Fed training(outside);
    training.start_training(100);
    training.train_steps(2);
    training.end();
    EXPECT_EQ(training.step(), 2 * life);
    EXPECT_EQ(training.latest(), 2 * life - 1);
  }
  EXPECT_EQ(log.count("Restored the input pipeline from run/input.ckpt-2"), 1U);
}

TEST(CheckpointInputPipelineHook, SaysSoIfTheIteratorHadAnotherName) {
  support::LogLines log;
  support::Outside outside;
  for (const std::string name : {"images", "pictures"}) {
    LoopSession loop;
    std::int64_t weight = 0;
    loop.variable("weight", weight);
    make_iterator(loop, ten_numbers(), name);
    auto session = monitored_training_session(loop, {.checkpoint_dir = "run",
                                                     .save_checkpoint_steps = 100,
                                                     .hooks = {CheckpointInputPipelineHook()},
                                                     .file_system = &outside.disk,
                                                     .clock = &outside.clock});
    try {
      session.run([] {});
      EXPECT_EQ(name, "images");
    } catch (const NotFoundError& error) {
      EXPECT_EQ(name, "pictures");
      EXPECT_EQ(std::string(error.what()),
                "checkpoint run/input.ckpt-1 has no position of the input 'pictures-state'; it holds: images-state "
                "(give the iterator the name that it had, or train into another directory)");
      return;
    }
    session.close();
  }
  FAIL() << "the second iterator started from the first element";
}

TEST(CheckpointInputPipelineHook, I04_RefusesAGraphWithoutIterators) {
  support::Process training;
  training.add(CheckpointInputPipelineHook());
  EXPECT_THROW(training.begin(), InvalidArgumentError);
}

TEST(CheckpointInputPipelineHook, RefusesNamesThatAreNotFileNames) {
  EXPECT_THROW(CheckpointInputPipelineHook({.checkpoint_basename = "a/b"}), InvalidArgumentError);
  EXPECT_THROW(CheckpointInputPipelineHook({.checkpoint_basename = ""}), InvalidArgumentError);
  EXPECT_THROW(CheckpointInputPipelineHook({.latest_filename = "a/b"}), InvalidArgumentError);
  EXPECT_THROW(CheckpointInputPipelineHook({.checkpoint_basename = "x", .latest_filename = "x"}), InvalidArgumentError);
}

TEST(CheckpointInputPipelineHook, NeedsAHookThatSavesTheModelThere) {
  support::LogLines log;
  support::Outside outside;
  Fed none(outside);
  EXPECT_THROW(none.start_with_input(), FailedPreconditionError);
  Fed elsewhere(outside);
  EXPECT_THROW(elsewhere.start_training(2, {.checkpoint_dir = "other"}), FailedPreconditionError);
  support::Outside fresh;
  Fed named(fresh);
  named.start_training(2, {.checkpoint_dir = "run/"});
}

TEST(CheckpointInputPipelineHook, S29_RestoresTheStateOfTheModelsStepNotTheNewest) {
  support::LogLines log;
  support::Outside outside;
  {
    Fed training(outside);
    training.start_training(2);
    training.train_steps(5);  // saved at 0, 2 and 4; then killed
  }
  remove_checkpoint(outside.disk, "run/model.ckpt-4");
  Fed resumed(outside);
  resumed.start_training(2);
  EXPECT_EQ(resumed.step(), 2);
  resumed.train_steps(1);
  EXPECT_EQ(resumed.latest(), 2) << "the third element, counted from 0";
}

TEST(CheckpointInputPipelineHook, S29_AKilledTrainingEndsAsOneThatWasNotWhereverTheKillFell) {
  support::LogLines log;
  std::uint64_t operations = 0;
  {
    support::Outside outside;
    testing::FaultyFileSystem disk(outside.disk);
    Fed training(outside, &disk);
    training.start_training(2);
    training.train_steps(8);
    training.end();
    operations = disk.count();
  }
  ASSERT_GT(operations, 50U);
  for (std::uint64_t kill_at = 1; kill_at <= operations; kill_at += 3) {
    support::Outside outside;
    struct Killed {};
    testing::FaultyFileSystem disk(outside.disk);
    std::uint64_t count = 0;
    const auto die = [&](FileOperation, const std::string&) {
      if (++count >= kill_at) throw Killed();
    };
    disk.set_callback(die);
    try {
      Fed training(outside, &disk);
      training.use_disk(disk);
      training.start_training(2);
      training.train_steps(8);
    } catch (const Killed&) {}
    Fed resumed(outside);
    resumed.start_training(2);
    while (resumed.step() < 8) {
      resumed.train_steps(1);
      ASSERT_EQ(resumed.latest(), resumed.step() - 1) << "killed at operation " << kill_at;
    }
  }
}

TEST(CheckpointInputPipelineHook, S29_ADamagedInputOfItsStepStepsTheModelBack) {
  for (const char* damaged : {"run/input.ckpt-4.index", "run/input.ckpt-4.data-00000-of-00001"}) {
    support::LogLines log;
    support::Outside outside;
    {
      Fed training(outside);
      training.start_training(2);
      training.train_steps(5);
    }
    std::string bytes = outside.disk.contents(damaged);
    bytes[3] = static_cast<char>(~bytes[3]);
    outside.disk.write_file(damaged, bytes);
    Fed resumed(outside);
    resumed.start_training(2);
    EXPECT_EQ(resumed.step(), 2);
    ASSERT_EQ(resumed.report.skipped.size(), 1U);
    EXPECT_NE(resumed.report.skipped[0].find("the position of the input pipeline at its step is damaged"),
              std::string::npos);
    resumed.train_steps(3);
    EXPECT_EQ(resumed.latest(), 4);
  }
}

/// One life with the hook and one without it.
void train_with_and_without(support::Outside& outside, int steps_with, int steps_without) {
  {
    Fed with(outside);
    with.start_training(1);
    with.train_steps(steps_with);
    with.end();
  }
  Fed without(outside);
  without.add(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1, .saver = without.saver}));
  without.begin();
  without.restore_newest();
  without.create();
  without.train_steps(steps_without);
  without.end();
}

TEST(CheckpointInputPipelineHook, S29_AModelWithoutInputOfItsStepIsKeptAndTheInputContinuesFromItsNewestEarlierFile) {
  for (const int without : {1, 3, 20}) {  // two checkpoints are kept: after 20 steps none of them has its input
    support::LogLines log;
    support::Outside outside;
    train_with_and_without(outside, 2, without);
    const Lines before = input_files(outside);
    static_cast<void>(log.take());
    Fed again(outside);
    again.start_training(1);
    EXPECT_EQ(again.step(), 2 + without);
    EXPECT_TRUE(again.report.skipped.empty());
    EXPECT_EQ(input_files(outside), before);
    again.train_steps(1);
    EXPECT_EQ(again.latest(), 2);
    EXPECT_EQ(log.count(fmt::format("W the model of step {} was restored from 'run', but run/input.ckpt-{} does not "
                                    "exist: the input continues from its position at step 2",
                                    2 + without, 2 + without)),
              1U);
    EXPECT_EQ(log.count("W "), 1U);
  }
}

TEST(CheckpointInputPipelineHook, AnInputFileIsDeletedWhenNoModelWouldBeRestoredWithIt) {
  support::LogLines log;
  support::Outside outside;
  train_with_and_without(outside, 2, 20);
  EXPECT_EQ(input_files(outside), (Lines{"input.ckpt-1.index", "input.ckpt-2.index"})) << "only a save with the hook";
  Fed again(outside);
  again.start_training(1);
  again.train_steps(1);
  EXPECT_EQ(input_files(outside), (Lines{"input.ckpt-2.index", "input.ckpt-23.index"})) << "model.ckpt-22 needs it";
  again.train_steps(1);
  EXPECT_EQ(input_files(outside), (Lines{"input.ckpt-23.index", "input.ckpt-24.index"}));
}

TEST(CheckpointInputPipelineHook, TheInputFileThatWasRestoredStaysUntilANewerOneIsCommitted) {
  support::LogLines log;
  support::Outside outside;
  train_with_and_without(outside, 2, 20);
  {
    testing::FaultyFileSystem disk(outside.disk);
    Fed killed(outside, &disk);
    killed.use_disk(disk);
    killed.start_training(1);
    disk.set_callback([](FileOperation operation, const std::string& path) {
      if (operation == FileOperation::Rename && path.ends_with(".index")) throw UnknownError("killed");
    });
    EXPECT_THROW(killed.train_steps(1), UnknownError);
  }
  Fed again(outside);
  again.start_training(1);
  EXPECT_EQ(again.step(), 22);
  again.train_steps(1);
  EXPECT_EQ(again.latest(), 2);
}

TEST(CheckpointInputPipelineHook, ADamagedEarlierInputIsSkippedForOneBeforeIt) {
  support::LogLines log;
  support::Outside outside;
  train_with_and_without(outside, 2, 3);
  outside.disk.write_file("run/input.ckpt-2.index", "no index");
  Fed again(outside);
  again.start_training(1);
  EXPECT_EQ(again.step(), 5);
  again.train_steps(1);
  EXPECT_EQ(again.latest(), 1);
  EXPECT_EQ(log.count("W input checkpoint run/input.ckpt-2 is skipped"), 1U);
  EXPECT_EQ(log.count("the input continues from its position at step 1"), 1U);
}

/// Restores while every operation of a kind on paths with `part` fails with `code`, the first `times` times.
template <class Check>
void restore_with_failures(FileOperation kind, const std::string& part, ErrorCode code, int times, Check check) {
  support::LogLines log;
  support::Outside outside;
  {
    Fed training(outside);
    training.start_training(2);
    training.train_steps(5);
  }
  testing::FaultyFileSystem disk(outside.disk);
  disk.set_callback([&](FileOperation operation, const std::string& path) {
    if (operation == kind && path.find(part) != std::string::npos && times-- > 0)
      throw_error(code, fmt::format("cannot read {}: it fails", path));
  });
  Fed resumed(outside, &disk);
  resumed.use_disk(disk);
  check(resumed);
}

TEST(CheckpointInputPipelineHook, S29_AnUnreadableInputStopsWithTheErrorAsTheModelsDataDoes) {
  constexpr int kAlways = 1'000'000;
  for (const char* part : {"input.ckpt-4.index", "input.ckpt-4.data", "model.ckpt-4.index", "model.ckpt-4.data"}) {
    for (const ErrorCode code : {ErrorCode::PermissionDenied, ErrorCode::ResourceExhausted}) {
      restore_with_failures(FileOperation::OpenReadable, part, code, kAlways, [&](Fed& resumed) {
        try {
          resumed.start_training(2);
          FAIL() << part;
        } catch (const Error& error) { EXPECT_EQ(error.code(), code) << error.what(); }
      });
    }
    for (const FileOperation kind : {FileOperation::OpenReadable, FileOperation::Read, FileOperation::Size}) {
      restore_with_failures(kind, part, ErrorCode::DataLoss, kAlways, [&](Fed& resumed) {
        try {
          resumed.start_training(2);
          FAIL() << part;
        } catch (const UnknownError& error) {
          EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
          EXPECT_NE(std::string(error.what()).find("this happened twice"), std::string::npos) << error.what();
        }
      });
    }
  }
}

TEST(CheckpointInputPipelineHook, S29_AnyOperationOfARestoreThatFailsOnceChangesNothing) {
  for (std::uint64_t n = 1, operations = 1; n <= operations; ++n) {
    support::LogLines log;
    support::Outside outside;
    {
      Fed training(outside);
      training.start_training(2);
      training.train_steps(5);
    }
    testing::FaultyFileSystem disk(outside.disk);
    Fed resumed(outside, &disk);
    resumed.use_disk(disk);
    resumed.add(CheckpointSaverHook(
        {.checkpoint_dir = "run", .save_steps = 2, .saver = resumed.saver, .save_graph_def = false}));
    resumed.add(CheckpointInputPipelineHook());
    resumed.begin();
    disk.reset();
    disk.fail_at(n, ErrorCode::DataLoss);
    resumed.restore_newest();
    resumed.create();
    resumed.train_steps(1);
    operations = std::max(operations, disk.count());
    EXPECT_EQ(resumed.latest(), 4) << disk.trace().at(n - 1);
    EXPECT_TRUE(resumed.report.skipped.empty()) << disk.trace().at(n - 1);
  }
}

TEST(CheckpointInputPipelineHook, S29_ADeviceThatFailsOnceIsAskedAgain) {
  for (const char* part : {"input.ckpt-4.index", "input.ckpt-4.data", "model.ckpt-4.index", "model.ckpt-4.data"}) {
    for (const FileOperation kind :
         {FileOperation::OpenReadable, FileOperation::Read, FileOperation::Size, FileOperation::Exists}) {
      restore_with_failures(kind, part, ErrorCode::DataLoss, 1, [&](Fed& resumed) {
        resumed.start_training(2);
        EXPECT_EQ(resumed.step(), 4) << part;
        EXPECT_TRUE(resumed.report.skipped.empty());
        resumed.train_steps(1);
        EXPECT_EQ(resumed.latest(), 4) << part;
      });
    }
  }
}

/// Takes the next elements of 0, 1, 2, ... and saves at each second step, under that basename.
std::vector<std::int64_t> take_elements(support::Outside& outside, const std::string& basename, int count) {
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(100));
  auto session = monitored_training_session(
      loop, {.checkpoint_dir = "run",
             .hooks = {CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .checkpoint_basename = basename}),
                       CheckpointInputPipelineHook()},
             .file_system = &outside.disk,
             .clock = &outside.clock});
  std::vector<std::int64_t> taken;
  for (int i = 0; i < count; ++i) {
    Element element;
    session.run([&] { numbers.get_next(element); });
    taken.push_back(element[0].scalar<std::int64_t>());
  }
  session.close();
  return taken;
}

TEST(CheckpointInputPipelineHook, ModelsOfAnotherBasenameKeepTheirInput) {
  support::LogLines log;
  support::Outside outside;
  EXPECT_EQ(take_elements(outside, "model.ckpt", 4), (std::vector<std::int64_t>{0, 1, 2, 3}));
  const Lines before = input_files(outside);
  EXPECT_EQ(before, (Lines{"input.ckpt-0.index", "input.ckpt-2.index", "input.ckpt-4.index"}));
  EXPECT_EQ(take_elements(outside, "other.ckpt", 2), (std::vector<std::int64_t>{4, 5})) << "as the model does";
  for (const std::string& file : before) EXPECT_TRUE(outside.disk.exists("run/" + file)) << file;
  EXPECT_EQ(log.count("W the model of step"), 0U);
}

TEST(CheckpointInputPipelineHook, IsAddedToATrainingThatWentWithoutIt) {
  support::LogLines log;
  support::Outside outside;
  {
    Fed training(outside);
    training.add(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .saver = training.saver}));
    training.start();
    training.train_steps(2);
    training.end();
  }
  {
    Fed killed(outside);
    killed.start_training(2);
    killed.train_steps(2);
  }
  remove_checkpoint(outside.disk, "run/model.ckpt-4");  // as if it was killed between the commits of input and model
  static_cast<void>(log.take());
  {
    Fed first(outside);
    first.start_training(2);
    EXPECT_EQ(first.step(), 2);
    first.train_steps(2);
    EXPECT_EQ(first.latest(), 1) << "the input starts from the beginning";
    EXPECT_EQ(log.count("W the model of step 2 was restored from 'run', but run/input.ckpt-2 does not exist, nor an "
                        "earlier one: the input starts from the beginning, as at step 0"),
              1U);
  }
  Fed second(outside);
  second.start_training(2);
  EXPECT_EQ(second.step(), 4);
  second.train_steps(1);
  EXPECT_EQ(second.latest(), 2) << "and goes on from there";
}

TEST(CheckpointInputPipelineHook, S29_RestoresAfterARecoveryToo) {
  support::LogLines log;
  support::Outside outside;
  Fed training(outside);
  training.start_training(2);
  training.train_steps(5);
  training.restore_newest();
  training.create();
  EXPECT_EQ(training.step(), 4);
  training.train_steps(1);
  EXPECT_EQ(training.latest(), 4);
}

TEST(CheckpointInputPipelineHook, AModelThatIsGoneSinceItWasRestoredIsAnError) {
  support::LogLines log;
  support::Outside outside;
  {
    Fed training(outside);
    training.start_training(2);
    training.train_steps(2);
    training.end();
  }
  Fed resumed(outside);
  resumed.start_training(2);
  remove_checkpoint(outside.disk, "run/model.ckpt-2");
  remove_checkpoint(outside.disk, "run/input.ckpt-2");
  try {
    resumed.train_steps(1);
    FAIL() << "the input started from the beginning";
  } catch (const NotFoundError& error) {
    EXPECT_STREQ(error.what(),
                 "run/model.ckpt-2, from which the session was restored, is gone: something else removes checkpoints "
                 "from 'run'; restart the program to resume from its newest checkpoint");
  }
  EXPECT_EQ(resumed.step(), 2);
}

TEST(CheckpointInputPipelineHook, RestoresAtTheFirstRunSoThatInitializersDoNotUndoIt) {
  support::LogLines log;
  support::Outside outside;
  {
    Fed training(outside);
    training.start_training(2);
    training.train_steps(2);
    training.end();
  }
  Fed resumed(outside);
  resumed.start_training(2);
  resumed.model.variable("IteratorV2-state") = Tensor(std::int64_t{0});  // what an initializer does
  resumed.train_steps(1);
  EXPECT_EQ(resumed.latest(), 2);
}

TEST(CheckpointInputPipelineHook, SavesAtTheStepsOfTheModelAndGoesWithIt) {
  support::LogLines log;
  support::Outside outside;
  Fed training(outside);
  training.start_training(2);
  training.train_steps(7);
  training.end();
  EXPECT_EQ(input_files(outside), (Lines{"input.ckpt-6.index", "input.ckpt-7.index"})) << "the model's saver keeps two";
  const auto state = get_checkpoint_state(outside.disk, "run", "checkpoint_input");
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->all_model_checkpoint_paths, (Lines{"run/input.ckpt-6", "run/input.ckpt-7"}));
  EXPECT_EQ(latest_checkpoint(outside.disk, "run"), "run/model.ckpt-7")
      << "the model's own state file knows nothing of it";
  const BundleReader reader("run/input.ckpt-7", {.file_system = &outside.disk});
  EXPECT_EQ(reader.entries().size(), 1U);
}

TEST(CheckpointInputPipelineHook, IsCommittedBeforeTheModel) {
  support::LogLines log;
  support::Outside outside;
  testing::FaultyFileSystem disk(outside.disk);
  Lines commits;
  disk.set_callback([&](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::Rename && path.ends_with(".index")) commits.push_back(path);
  });
  Fed training(outside, &disk);
  training.use_disk(disk);
  training.start_training(2);
  training.train_steps(2);
  EXPECT_EQ(commits, (Lines{"run/input.ckpt-0.index", "run/model.ckpt-0.index", "run/input.ckpt-2.index",
                            "run/model.ckpt-2.index"}));
}

TEST(CheckpointInputPipelineHook, AnInputCheckpointAloneIsNotAModelToRestore) {
  support::LogLines log;
  support::Outside outside;
  {
    BundleWriter writer("run/input.ckpt-0",
                        {.file_system = &outside.disk});  // killed before the very first model was committed
    writer.add("IteratorV2-state", Tensor(std::int64_t{0}));
    writer.finish();
  }
  Fed training(outside);
  training.start_training(2);
  training.train_steps(2);
  EXPECT_EQ(training.latest(), 1);
}

TEST(CheckpointInputPipelineHook, GoesWithTheAsynchronousSaverToo) {
  support::LogLines log;
  support::Outside outside;
  {
    Fed training(outside);
    auto hook = std::make_shared<AsyncCheckpointSaverHook>(AsyncCheckpointSaverHook::Options{
        .checkpoint_dir = "run", .save_steps = 1, .saver = training.saver, .overlap = SaveOverlap::Replace});
    training.add(hook);
    training.start_with_input();
    training.train_steps(7);
    training.end();
  }
  EXPECT_TRUE(outside.disk.exists("run/input.ckpt-7.index"));
  EXPECT_LE(input_files(outside).size(), 3U);
  Fed resumed(outside);
  resumed.start_training(1);
  resumed.train_steps(1);
  EXPECT_EQ(resumed.latest(), 7);
}

TEST(CheckpointInputPipelineHook, SaysThatItsOwnPeriodIsIgnoredBesideASaver) {
  constexpr const char* kLine =
      "W CheckpointInputPipelineHook: save_steps is ignored: the input is saved with each checkpoint of the "
      "CheckpointSaverHook";
  support::LogLines log;
  support::Outside outside;
  Fed given(outside);
  given.start_training(2, {.save_steps = 5});
  given.create();  // after a recovery
  given.end();
  EXPECT_EQ(log.count(kLine), 1U);
  Fed of_an_estimator(outside);
  of_an_estimator.add(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .saver = of_an_estimator.saver}));
  of_an_estimator.add(CheckpointInputPipelineHook(detail::CheckpointTarget{.checkpoint_dir = "run", .save_steps = 2}));
  of_an_estimator.start();
  EXPECT_EQ(log.count("is ignored"), 1U) << "the user gave none";
}

TEST(CheckpointInputPipelineHook, ASecondBeginLeavesTheGraphAsItIs) {
  support::Outside outside;
  Fed training(outside);
  const auto sizes = [&] {
    std::map<std::string, std::size_t> all{{"nodes", training.graph.size()}};
    for (const auto& [key, items] : training.graph.collections()) all[key] = items.size();
    return all;
  };
  training.start_training(2, {.external_state_policy = ExternalStatePolicy::Ignore});
  const auto before = sizes();
  training.end();
  for (const auto& hook : training.hooks()) hook->begin(training.graph);
  EXPECT_EQ(sizes(), before);
}

TEST(CheckpointInputPipelineHook, ExternalStateIsAnErrorAWarningOrIgnored) {
  const Dataset stateful = Dataset::range(10).map([](const Element& element) { return element; }, {.stateful = true});
  const auto begin = [&](ExternalStatePolicy policy) {
    support::Process training;
    make_iterator(training.graph, stateful);
    training.add(CheckpointInputPipelineHook({.external_state_policy = policy}));
    training.begin();
    return detail::external_state_policy(training.graph);
  };
  support::LogLines log;
  EXPECT_THROW(begin(ExternalStatePolicy::Fail), FailedPreconditionError);
  EXPECT_EQ(begin(ExternalStatePolicy::Ignore), ExternalStatePolicy::Ignore);
  EXPECT_TRUE(log.lines.empty());
  EXPECT_EQ(begin(ExternalStatePolicy::Warn), ExternalStatePolicy::Warn);
  EXPECT_EQ(log.count("W CheckpointInputPipelineHook: iterator 'IteratorV2' has state that no checkpoint can hold"),
            1U);
}

}  // namespace
}  // namespace trainhook
