// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saver: state of a session into a checkpoint and back, or an error that changes nothing.
#include <trainhook/checkpoint/saver.hpp>

#include <chrono>
#include <complex>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

#include "data_files.hpp"

namespace trainhook {
namespace {

using testing::ScriptedSession;
using ::testing::ThrowsMessage;
using Prefixes = std::vector<std::string>;

/// Keeps one number; refuses to load a negative one.
class Counter final : public Saveable {
 public:
  explicit Counter(std::int64_t start) : value(start) {}
  std::string name() const override { return "counter"; }
  StateValues save() override {
    StateValues values;
    values.set("value", Tensor(value));
    return values;
  }
  void load(const StateValues& values) override {
    const std::int64_t loaded = values.empty() ? 0 : values.at("value").scalar<std::int64_t>();
    if (loaded < 0) throw DataLossError("a counter cannot be negative");
    value = loaded;
  }
  std::int64_t value;
};

class SaverTest : public ::testing::Test {
 protected:
  SaverTest() { script.variable("weights", Tensor::of<float>({1, 2, 3})); }
  SaverOptions on_disk(SaverOptions options = {}) {
    options.file_system = &disk;
    options.clock = &clock;
    return options;
  }
  std::string save(Saver& saver, ScriptedSession& session, std::int64_t step, std::string meta_graph = {}) {
    SaveRequest request{.save_path = "run/m", .global_step = step};
    if (!meta_graph.empty()) request.parts = {std::make_shared<detail::SideFile>(".meta", std::move(meta_graph))};
    return saver.save(session, request);
  }
  Prefixes listed() { return get_checkpoint_state(disk, "run")->all_model_checkpoint_paths; }
  Prefixes files_of(const std::string& prefix) {
    Prefixes found;
    for (const std::string& path : disk.files()) {
      if (path.starts_with(prefix + ".")) found.push_back(path);
    }
    return found;
  }
  void set(ScriptedSession& session, const std::string& name, Tensor value) {
    const std::vector<NamedTensor> entries = {{name, std::move(value)}};
    session.load(entries);
  }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  testing::Script script;
};

TEST_F(SaverTest, NothingToRestoreIsAnErrorAsNothingToSaveIs) {
  ScriptedSession session(script);
  Saver all(on_disk());
  const std::string prefix = save(all, session, 1);
  Saver none(on_disk({.kinds = {StateKind::Input}}));
  EXPECT_THROW(save(none, session, 2), InvalidArgumentError);
  EXPECT_THROW(none.restore(session, prefix), InvalidArgumentError);
}

TEST_F(SaverTest, RestoresWhatItSaved) {
  ScriptedSession session(script);
  set(session, "weights", Tensor::of<float>({4, 5, 6}));
  Saver saver(on_disk());
  EXPECT_EQ(saver.save(session, {.save_path = "run/model.ckpt", .global_step = 7}), "run/model.ckpt-7");
  set(session, "weights", Tensor::of<float>({0, 0, 0}));
  saver.restore(session, "run/model.ckpt-7");
  EXPECT_EQ(session.variable("weights"), Tensor::of<float>({4, 5, 6}));
}

TEST_F(SaverTest, PadsTheStepIfAsked) {
  ScriptedSession session(script);
  EXPECT_EQ(Saver(on_disk({.pad_step_number = true})).save(session, {.save_path = "run/m", .global_step = 42}),
            "run/m-00000042");
}

TEST_F(SaverTest, ASnapshotIsNotChangedByLaterSteps) {
  ScriptedSession session(script);
  Saver saver(on_disk());
  const Snapshot snapshot = saver.snapshot(session);
  set(session, "weights", Tensor::of<float>({9, 9, 9}));
  saver.write(snapshot, {.save_path = "run/model.ckpt", .global_step = 1});
  EXPECT_EQ(BundleReader("run/model.ckpt-1", {.file_system = &disk}).get_tensor("weights"),
            Tensor::of<float>({1, 2, 3}));
}

TEST_F(SaverTest, SavesOnlyTheVariablesOfItsList) {
  ScriptedSession session(script);
  Saver saver(on_disk({.var_list = {"weights"}}));
  saver.save(session, {.save_path = "run/model.ckpt"});
  EXPECT_FALSE(BundleReader("run/model.ckpt", {.file_system = &disk}).has_tensor("global_step"));
  EXPECT_THROW(Saver(on_disk({.var_list = {"bias"}})).save(session, {.save_path = "run/other"}), NotFoundError);
}

TEST_F(SaverTest, AShapeThatDiffersNamesBothAndChangesNothing) {
  {
    testing::Script other;
    other.variable("weights", Tensor::of<float>({1, 2}));
    ScriptedSession session(other);
    Saver(on_disk()).save(session, {.save_path = "run/model.ckpt"});
  }
  ScriptedSession session(script);
  try {
    Saver(on_disk()).restore(session, "run/model.ckpt");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("float32[3] in the model and float32[2]"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(session.variable("weights"), Tensor::of<float>({1, 2, 3}));
}

TEST_F(SaverTest, AMissingVariableIsNamed) {
  {
    testing::Script other;
    ScriptedSession session(other);
    Saver(on_disk()).save(session, {.save_path = "run/model.ckpt"});
  }
  ScriptedSession session(script);
  EXPECT_THROW(Saver(on_disk()).restore(session, "run/model.ckpt"), NotFoundError);
}

TEST_F(SaverTest, RestoresAPartitionedVariableWhole) {
  ScriptedSession session(script);
  BundleWriter writer("run/m", {.file_system = &disk});
  writer.add("global_step", std::int64_t{3});
  writer.add_slice("weights", Shape{3}, {{0, 2}}, Tensor::of<float>({4, 5}));
  writer.add_slice("weights", Shape{3}, {{2, 1}}, Tensor::of<float>({6}));
  writer.finish();
  Saver(on_disk()).restore(session, "run/m");
  EXPECT_EQ(session.variable("weights"), Tensor::of<float>({4, 5, 6}));
}

TEST_F(SaverTest, AnObjectBasedCheckpointSaysWhatRestoresIt) {
  ScriptedSession session(script);
  BundleWriter writer("run/m", {.file_system = &disk});
  writer.add("_CHECKPOINTABLE_OBJECT_GRAPH", std::string("whatever is in it"));
  writer.add("global_step", std::int64_t{3});
  writer.finish();
  EXPECT_THAT(
      [&] { Saver(on_disk()).restore(session, "run/m"); },
      ThrowsMessage<NotFoundError>(
          "checkpoint run/m is object-based, as TensorFlow 2 writes them, and has no tensor 'weights': give the "
          "Saver or CheckpointManager .format = open_object_based, which is in <trainhook/compat.hpp> and finds "
          "variables by their full names"));
}

TEST_F(SaverTest, ASourceIsOpenedInItsOwnFormat) {
  class Constant final : public CheckpointContents {
   public:
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] std::optional<Entry> find(std::string_view name) const override {
      const Tensor tensor = read(name);
      return Entry{tensor.dtype(), tensor.shape()};
    }
    [[nodiscard]] Tensor read(std::string_view name) const override {
      return name == "weights" ? Tensor::of<float>({7, 7, 7}) : Tensor(std::int64_t{7});
    }
    [[nodiscard]] Tensor read(std::string_view name, const TensorSlice& /*region*/) const override {
      return read(name);
    }
    [[nodiscard]] std::vector<std::string> names(std::string_view /*beginning*/) const override { return {}; }
    [[noreturn]] void refuse(std::string_view variable) const override { throw NotFoundError("{}", variable); }

   private:
    std::string path_ = "sevens";
  };
  const CheckpointFormat sevens = [](const std::string&, FileSystem&,
                                     BundleFiles) -> std::unique_ptr<CheckpointContents> {
    return std::make_unique<Constant>();
  };
  ScriptedSession session(script);
  Saver(on_disk()).restore(session, CheckpointSource("anywhere", sevens));
  EXPECT_EQ(session.variable("weights"), Tensor::of<float>({7, 7, 7}));
  SaverOptions options = on_disk();
  options.format = sevens;
  session.load(std::vector<NamedTensor>{{"weights", Tensor::of<float>({1, 2, 3})}});
  Saver(options).restore(session, "elsewhere");
  EXPECT_EQ(session.variable("weights"), Tensor::of<float>({7, 7, 7}));
}

TEST_F(SaverTest, RestoresWhatTensorFlowPartitioned) {
  testing::Script model;
  model.variable("rows", Tensor(DType::Float, Shape{7, 2}));
  ScriptedSession session(model);
  Saver({.var_list = {"rows"}}).restore(session, testing::data_file("partitioned"));
  EXPECT_EQ(session.variable("rows").data<float>()[13], 13);
}

TEST_F(SaverTest, APrefixWithoutCheckpointIsAnInvalidArgument) {
  ScriptedSession session(script);
  EXPECT_THROW(Saver(on_disk()).restore(session, "run/none-1"), InvalidArgumentError);
}

TEST_F(SaverTest, SaveablesAreInTheSameBundle) {
  const auto counter = std::make_shared<Counter>(3);
  script.graph().add_to_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(counter));
  ScriptedSession session(script);
  Saver saver(on_disk());
  saver.save(session, {.save_path = "run/model.ckpt", .global_step = 1});
  counter->value = 8;
  saver.restore(session, "run/model.ckpt-1");
  EXPECT_EQ(counter->value, 3);
}

TEST_F(SaverTest, ASaveableThatRefusesItsStateLeavesTheVariablesAlone) {
  const auto counter = std::make_shared<Counter>(-1);
  script.graph().add_to_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(counter));
  ScriptedSession session(script);
  Saver saver(on_disk());
  saver.save(session, {.save_path = "run/model.ckpt", .global_step = 1});
  set(session, "weights", Tensor::of<float>({7, 7, 7}));
  EXPECT_THROW(saver.restore(session, "run/model.ckpt-1"), DataLossError);
  EXPECT_EQ(session.variable("weights"), Tensor::of<float>({7, 7, 7}));
}

TEST_F(SaverTest, K01_ANameThatCollidesWithTheStateFileIsRefused) {
  ScriptedSession session(script);
  try {
    Saver(on_disk()).save(session, {.save_path = "run/checkpoint"});
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("collides with"), std::string::npos) << error.what();
  }
  EXPECT_EQ(disk.files(), Prefixes{});
  EXPECT_EQ(Saver(on_disk()).save(session, {.save_path = "run/checkpoint", .global_step = 0}), "run/checkpoint-0");
  EXPECT_EQ(latest_checkpoint(disk, "run"), "run/checkpoint-0");
  EXPECT_EQ(Saver(on_disk({.sharded = true})).save(session, {.save_path = "run/checkpoint"}), "run/checkpoint");
  EXPECT_EQ(latest_checkpoint(disk, "run"), "run/checkpoint");
}

TEST_F(SaverTest, K02_TheLatestOfARelativeDirectoryIsRestored) {
  ScriptedSession session(script);
  Saver saver(on_disk());
  for (int i = 0; i < 3; ++i) {
    const auto value = static_cast<float>(i);
    set(session, "weights", Tensor::of<float>({value, value, value}));
    saver.save(session, {.save_path = "run/m", .global_step = i});
  }
  set(session, "weights", Tensor::of<float>({9, 9, 9}));
  saver.restore(session, latest_checkpoint(disk, "run").value());
  EXPECT_EQ(session.variable("weights"), Tensor::of<float>({2, 2, 2}));
}

TEST_F(SaverTest, K07_StoresRelativePathsUnlessToldNotTo) {
  ScriptedSession session(script);
  const auto stored = [&](bool save_relative_paths) {
    Saver(on_disk({.save_relative_paths = save_relative_paths}))
        .save(session, {.save_path = "/abs/m", .global_step = 1});
    EXPECT_EQ(latest_checkpoint(disk, "/abs"), "/abs/m-1");
    return disk.contents("/abs/checkpoint");
  };
  EXPECT_NE(stored(true).find("model_checkpoint_path: \"m-1\""), std::string::npos);
  EXPECT_NE(stored(false).find("model_checkpoint_path: \"/abs/m-1\""), std::string::npos);
}

TEST_F(SaverTest, R01_KeepsTheNewestOfItsOwnList) {
  ScriptedSession session(script);
  Saver saver(on_disk({.max_to_keep = 2}));
  EXPECT_EQ(saver.last_checkpoints(), Prefixes{});
  save(saver, session, 1);
  EXPECT_EQ(saver.last_checkpoints(), Prefixes{"run/m-1"});
  EXPECT_EQ(listed(), Prefixes{"run/m-1"});
  save(saver, session, 2);
  EXPECT_EQ(saver.last_checkpoints(), (Prefixes{"run/m-1", "run/m-2"}));
  save(saver, session, 3);
  EXPECT_EQ(saver.last_checkpoints(), (Prefixes{"run/m-2", "run/m-3"}));
  EXPECT_EQ(listed(), (Prefixes{"run/m-2", "run/m-3"}));
  EXPECT_EQ(files_of("run/m-1"), Prefixes{});
  Saver second(on_disk({.max_to_keep = 2}));
  second.recover_last_checkpoints(saver.last_checkpoints());
  save(saver, session, 2);
  EXPECT_EQ(saver.last_checkpoints(), (Prefixes{"run/m-3", "run/m-2"}));
  EXPECT_EQ(listed(), (Prefixes{"run/m-3", "run/m-2"}));
  EXPECT_FALSE(files_of("run/m-3").empty());
  save(saver, session, 1);
  EXPECT_EQ(saver.last_checkpoints(), (Prefixes{"run/m-2", "run/m-1"}));
  EXPECT_EQ(files_of("run/m-3"), Prefixes{});
  EXPECT_EQ(second.last_checkpoints(), (Prefixes{"run/m-2", "run/m-3"}));
  save(second, session, 1);
  EXPECT_EQ(second.last_checkpoints(), (Prefixes{"run/m-3", "run/m-1"}));
  EXPECT_EQ(files_of("run/m-2"), Prefixes{});
}

TEST_F(SaverTest, R03_AllShardsAndTheMetaOfADroppedCheckpointDisappear) {
  ScriptedSession session(script);
  Saver saver(on_disk({.sharded = true, .shard_bytes = 1, .max_to_keep = 2}));
  for (std::int64_t step : {1, 2}) save(saver, session, step, "graph");
  const Prefixes whole{"run/m-1.data-00000-of-00002", "run/m-1.data-00001-of-00002", "run/m-1.index", "run/m-1.meta"};
  EXPECT_EQ(files_of("run/m-1"), whole);
  save(saver, session, 3, "graph");
  EXPECT_EQ(files_of("run/m-1"), Prefixes{});
  EXPECT_EQ(files_of("run/m-2").size(), 4U);
  set(session, "weights", Tensor::of<float>({9, 9, 9}));
  saver.restore(session, "run/m-3");
  EXPECT_EQ(session.variable("weights"), Tensor::of<float>({1, 2, 3}));
}

TEST_F(SaverTest, R04_WithoutALimitNothingIsListedAndNothingGoes) {
  ScriptedSession session(script);
  Saver saver(on_disk({.max_to_keep = 0}));
  for (std::int64_t step = 1; step <= 8; ++step) {
    save(saver, session, step);
    EXPECT_EQ(saver.last_checkpoints(), Prefixes{});
    EXPECT_EQ(listed(), Prefixes{fmt::format("run/m-{}", step)});
  }
  EXPECT_EQ(checkpoints_on_disk(disk, "run").size(), 8U);
}

TEST_F(SaverTest, R05_WithoutAMetaGraphThereIsNoMeta) {
  ScriptedSession session(script);
  Saver saver(on_disk());
  save(saver, session, 1, "graph");
  save(saver, session, 2);
  EXPECT_EQ(disk.contents("run/m-1.meta"), "graph");
  EXPECT_EQ(files_of("run/m-2"), (Prefixes{"run/m-2.data-00000-of-00001", "run/m-2.index"}));
}

TEST_F(SaverTest, R06_RecoversTheListThatItIsGiven) {
  ScriptedSession session(script);
  {
    Saver earlier(on_disk());
    for (std::int64_t step : {1, 2, 3}) save(earlier, session, step);
  }
  remove_checkpoint(disk, "run/m-2");
  disk.remove_file("run/checkpoint");
  Saver saver(on_disk());
  saver.recover_last_checkpoints({"run/m-1", "run/m-2", "run/m-3"});
  EXPECT_EQ(saver.last_checkpoints(), (Prefixes{"run/m-1", "run/m-3"})) << "one is gone";
  save(saver, session, 4);
  EXPECT_EQ(saver.last_checkpoints(), (Prefixes{"run/m-1", "run/m-3", "run/m-4"}));
  EXPECT_EQ(listed(), (Prefixes{"run/m-1", "run/m-3", "run/m-4"}));
}

TEST_F(SaverTest, R06_RecoversNamesWithoutAStepToo) {
  ScriptedSession session(script);
  {
    Saver earlier(on_disk());
    for (const char* path : {"run/first", "run/second"}) earlier.save(session, {.save_path = path});
  }
  Saver saver(on_disk({.max_to_keep = 2}));
  saver.recover_last_checkpoints({"run/first", "run/second"});
  EXPECT_EQ(saver.last_checkpoints(), (Prefixes{"run/first", "run/second"}));
  saver.save(session, {.save_path = "run/third"});
  EXPECT_EQ(saver.last_checkpoints(), (Prefixes{"run/second", "run/third"}));
  EXPECT_EQ(files_of("run/first"), Prefixes{});
}

TEST_F(SaverTest, TheTimeUntilOneIsKeptPermanentlyBeginsWhenTheSaverIsCreated) {
  ScriptedSession session(script);
  const double made = clock.wall_seconds();
  Saver saver(on_disk({.max_to_keep = 1, .keep_checkpoint_every_n_hours = 2}));
  Saver lent({.max_to_keep = 1});
  clock.advance(std::chrono::hours(1));
  save(saver, session, 1);
  EXPECT_EQ(get_checkpoint_state(disk, "run")->last_preserved_timestamp, made);
  clock.advance(std::chrono::hours(1));
  for (std::int64_t step : {2, 3}) save(saver, session, step);
  EXPECT_EQ(checkpoints_on_disk(disk, "run"), (Prefixes{"run/m-2", "run/m-3"})) << "made two hours before step 2";
  testing::MemoryFileSystem other;
  lent.use(other, clock);
  clock.advance(std::chrono::hours(1));
  lent.use(other, clock);
  save(lent, session, 1);
  EXPECT_EQ(get_checkpoint_state(other, "run")->last_preserved_timestamp, made + 2 * 3600)
      << "a clock that is lent counts from then on";
}

TEST_F(SaverTest, WhatAProcessSavesFirstIsNotTakenForWhatAKilledOneLeft) {
  ScriptedSession session(script);
  testing::LogLines log;
  for (std::int64_t step : {1, 2, 3}) {
    clock.advance(std::chrono::seconds(1));
    disk.set_time(clock.wall_seconds());
    Saver saver(on_disk());
    save(saver, session, step);
  }
  EXPECT_EQ(log.take(), Prefixes{});
}

TEST_F(SaverTest, RefusesNaNAndInfinityOnRequestAndNamesThem) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto complaint = [&](const Tensor& tensor, bool refuse = true) -> std::string {
    try {
      Saver(on_disk({.refuse_non_finite = refuse})).write({{{"weights", tensor}}}, {.save_path = "run/m"});
    } catch (const FailedPreconditionError& error) { return error.what(); }
    return "none";
  };
  EXPECT_NE(complaint(Tensor::of<float>({1, 2, -kInfinity})).find("run/m is not written: element 2 of 'weights'"),
            std::string::npos);
  EXPECT_EQ(disk.files(), Prefixes{});
  EXPECT_NE(complaint(Tensor::of<double>({0, kNaN})).find("element 1 of"), std::string::npos);
  EXPECT_NE(complaint(Tensor::of<std::complex<float>>({{1, 2}, {3, kInfinity}})).find("element 1 of"),
            std::string::npos);
  EXPECT_NE(complaint(Tensor::of<std::complex<double>>({{kNaN, 2}})).find("element 0 of"), std::string::npos);
  EXPECT_NE(complaint(Tensor::of<Half>({Half{0x3c00}, Half{0xfc00}})).find("element 1 of"), std::string::npos);
  EXPECT_NE(complaint(Tensor::of<BFloat16>({BFloat16{0x7fc0}})).find("element 0 of"), std::string::npos);
  EXPECT_EQ(complaint(Tensor::of<float>({std::numeric_limits<float>::max(), 0, -0.0F})), "none");
  EXPECT_EQ(complaint(Tensor::of<std::int32_t>({-1})), "none");
  EXPECT_EQ(complaint(Tensor::of<std::string>({"nan"})), "none");
  EXPECT_EQ(complaint(Tensor::of<double>({kNaN}), false), "none") << "unless asked to, a saver saves what there is";
}

TEST_F(SaverTest, WithoutWriteStateTheCheckpointIsNotAnnounced) {
  ScriptedSession session(script);
  Saver saver(on_disk({.max_to_keep = 1}));
  save(saver, session, 1);
  saver.save(session, {.save_path = "run/m", .global_step = 2, .write_state = false});
  EXPECT_EQ(latest_checkpoint(disk, "run"), "run/m-1");
  EXPECT_EQ(checkpoints_on_disk(disk, "run"), (Prefixes{"run/m-1", "run/m-2"}));
}

TEST_F(SaverTest, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(Saver({.sharded = true, .shard_bytes = 0}), InvalidArgumentError);
  EXPECT_THROW(Saver({.max_to_keep = -1}), InvalidArgumentError);
  EXPECT_THROW(Saver({.keep_checkpoint_every_n_hours = 0}), InvalidArgumentError);
  ScriptedSession session(script);
  EXPECT_THROW(Saver(on_disk()).save(session, {.save_path = "run/m", .latest_filename = "a/b"}), InvalidArgumentError);
}

TEST_F(SaverTest, WritesToTheDiskOfTheSessionAtHand) {
  ScriptedSession session(script);
  Saver saver;
  {
    testing::MemoryFileSystem first;
    saver.use(first, clock);
    save(saver, session, 1);
    EXPECT_TRUE(checkpoint_exists(first, "run/m-1"));
  }
  saver.use(disk, clock);
  save(saver, session, 2);
  EXPECT_EQ(listed(), Prefixes{"run/m-2"});
}

TEST_F(SaverTest, SeveralThreadsMayWriteAtOnce) {
  ScriptedSession session(script);
  Saver saver(on_disk({.max_to_keep = 2}));
  const Snapshot snapshot = saver.snapshot(session);
  const auto write_ten = [&](const std::string& directory) {
    for (std::int64_t step = 1; step <= 10; ++step)
      saver.write(snapshot, {.save_path = directory + "/m", .global_step = step});
  };
  {
    const std::jthread other([&] { write_ten("other"); });
    write_ten("run");
  }
  EXPECT_EQ(listed(), (Prefixes{"run/m-9", "run/m-10"}));
  EXPECT_EQ(get_checkpoint_state(disk, "other")->all_model_checkpoint_paths, (Prefixes{"other/m-9", "other/m-10"}));
}

}  // namespace
}  // namespace trainhook
