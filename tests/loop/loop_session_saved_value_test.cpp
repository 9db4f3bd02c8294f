// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saves that take one value after the other, without a snapshot of the whole model.
#include <trainhook/loop/loop_session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

#include "allocations.hpp"
#include "temporary_folder.hpp"

namespace trainhook {
namespace {

using testing::ScriptedSession;

static_assert(detail::GivesSavedValues<LoopSession> && !detail::GivesSavedValues<ScriptedSession>);

TEST(SavedValue, IsThatOfASnapshotAndNotKept) {
  std::vector<float> weights{1, 2};
  LoopSession loop;
  loop.variable("weights", weights);
  const Tensor value = loop.saved_value("weights");
  EXPECT_TRUE(value.is_unique());
  EXPECT_EQ(value, loop.snapshot(std::vector<std::string>{"weights"}).at(0).tensor);
  weights = {8, 9};
  EXPECT_EQ(value, Tensor::of<float>({1, 2}));
  EXPECT_EQ(loop.saved_value("global_step"), Tensor(std::int64_t{0}));
  EXPECT_THROW((void)loop.saved_value("bias"), NotFoundError);
}

/// Writes down which value is asked for, and whether somebody still has the one before.
class ValueAfterValue : public ScriptedSession {
 public:
  using ScriptedSession::ScriptedSession;

  [[nodiscard]] Tensor saved_value(std::string_view name) {
    trace += std::string(name) + (last_.has_value() && !last_.is_unique() ? " beside another\n" : "\n");
    last_ = variable(std::string(name));
    (void)last_.mutable_bytes();  // a buffer of its own
    return last_;
  }

  std::string trace;

 private:
  Tensor last_;
};

TEST(SavedValue, IsWrittenBeforeTheNextOneIsTaken) {
  testing::Script script;
  for (const char* name : {"c", "a", "b"}) script.variable(name, Tensor::of<float>({1, 2, 3}));
  ValueAfterValue session(script);
  testing::MemoryFileSystem disk;
  Saver saver({.var_list = {"c", "a", "b"}, .file_system = &disk});
  EXPECT_EQ(saver.save(session, {.save_path = "run/m", .global_step = 3}), "run/m-3");
  EXPECT_EQ(session.trace, "a\nb\nc\n");
  const BundleReader reader("run/m-3", {.file_system = &disk});
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(reader.get_tensor(name), Tensor::of<float>({1, 2, 3}));
}

/// A variable on a device that can copy its values there.
struct OnADevice {
  OnADevice(LoopSession& loop, const std::string& name) {
    loop.variable(name, {.dtype = DType::Float,
                         .shape = Shape{},
                         .read =
                             [this, name](std::span<std::byte> bytes) {
                               trace += "read " + name + "\n";
                               std::memcpy(bytes.data(), &value, sizeof value);
                             },
                         .write = [](std::span<const std::byte>) {},
                         .snapshot = [this, name]() -> std::function<Tensor()> {
                           trace += "copy " + name + "\n";
                           if (!has_room) return {};
                           return [this, name, copy = copied] {
                             trace += "bring " + name + "\n";
                             return copy;
                           };
                         }});
  }
  float value = 1;
  Tensor copied{1.F};
  bool has_room = true;
  std::string trace;
};

struct DeferredValue : ::testing::Test {
  LoopSession loop;
  std::vector<float> host{1, 2};
  Variable on_host = loop.variable("b", host);
  OnADevice last{loop, "c"}, first{loop, "a"};
  testing::MemoryFileSystem disk;
  Saver saver{{.file_system = &disk}};
  [[nodiscard]] std::string write(const Snapshot& snapshot) { return saver.write(snapshot, {.save_path = "run/m"}); }
};

TEST_F(DeferredValue, IsCopiedByTheSnapshotAndBroughtByTheWrite) {
  const Snapshot snapshot = saver.snapshot(loop);
  EXPECT_EQ(first.trace + last.trace, "copy a\ncopy c\n");
  const BundleReader reader(write(snapshot), {.file_system = &disk});
  EXPECT_EQ(first.trace + last.trace, "copy a\nbring a\ncopy c\nbring c\n");
  EXPECT_EQ(reader.get_tensor("a"), Tensor(1.F));
  EXPECT_EQ(reader.get_tensor("b"), Tensor::of<float>({1, 2}));
  EXPECT_EQ(reader.get_tensor("c"), Tensor(1.F));
}

TEST_F(DeferredValue, GoesToEntriesInAnyOrderOfRegistration) {
  first.copied = Tensor(3.F);
  last.copied = Tensor(4.F);
  const BundleReader reader(write(saver.snapshot(loop)), {.file_system = &disk});
  EXPECT_EQ(reader.get_tensor("a"), Tensor(3.F));
  EXPECT_EQ(reader.get_tensor("c"), Tensor(4.F));
}

TEST_F(DeferredValue, IsReadAtOnceIfThereIsNoRoomForACopy) {
  first.has_room = false;
  (void)write(saver.snapshot(loop));
  EXPECT_EQ(first.trace, "copy a\nread a\n");
  EXPECT_EQ(last.trace, "copy c\nbring c\n");
}

TEST_F(DeferredValue, IsNotAskedForBySavesInTheForeground) {
  (void)saver.save(loop, {.save_path = "run/m"});
  EXPECT_EQ(first.trace + last.trace, "read a\nread c\n");
}

TEST_F(DeferredValue, MayBeWrittenTwiceAndAfterTheLoop) {
  auto other = std::make_unique<LoopSession>();
  const OnADevice variable(*other, "w");
  const Snapshot snapshot = saver.snapshot(*other);
  other.reset();
  for (const char* prefix : {"run/first", "run/second"}) {
    saver.write(snapshot, {.save_path = prefix});
    EXPECT_EQ(BundleReader(prefix, {.file_system = &disk}).get_tensor("w"), Tensor(1.F));
  }
}

TEST_F(DeferredValue, CountsAmongTheBytesOfASnapshot) {
  EXPECT_EQ(saver.snapshot(loop).bytes, 8U + 4U + 8U + 4U);  // the step, "a", "b" and "c"
}

/// A saveable that forgets its value.
struct Forgetful : Saveable {
  [[nodiscard]] std::string name() const override { return "b0"; }
  [[nodiscard]] StateValues save() override {
    StateValues values;
    values.set("", Tensor());
    return values;
  }
  void load(const StateValues&) override {}
};

TEST_F(DeferredValue, IsNotTakenForAnEntryWithoutValue) {
  loop.graph().add_to_collection(graph_keys::kSaveableObjects,
                                 std::shared_ptr<Saveable>(std::make_shared<Forgetful>()));
  const Snapshot snapshot = saver.snapshot(loop);
  EXPECT_THROW((void)write(snapshot), InvalidArgumentError);
  EXPECT_FALSE(checkpoint_exists(disk, "run/m"));
}

TEST_F(DeferredValue, ThatFailsNamesFunctionAndCheckpoint) {
  const auto broken = []() -> std::string { throw std::runtime_error("no room"); };
  LoopSession other;
  other.state("list", broken, [](const std::string&) {});
  EXPECT_THAT([&] { (void)saver.save(other, {.save_path = "run/m", .global_step = 5}); },
              ::testing::ThrowsMessage<std::runtime_error>(
                  "saving run/m-5: the save function of state '_trainhook/state/list' threw: no room"));
  first.copied = Tensor::of<float>({1, 2});
  const Snapshot snapshot = saver.snapshot(loop);
  EXPECT_THAT([&] { (void)write(snapshot); },
              ::testing::ThrowsMessage<InvalidArgumentError>(::testing::StartsWith("saving run/m: 'a' is float32[]")));
}

TEST_F(DeferredValue, OfAnotherShapeLeavesNoCheckpoint) {
  first.copied = Tensor::of<float>({1, 2});
  const Snapshot snapshot = saver.snapshot(loop);
  EXPECT_THROW((void)write(snapshot), InvalidArgumentError);
  EXPECT_FALSE(checkpoint_exists(disk, "run/m"));
}

TEST(SavedValue, ThatCannotBeTakenLeavesNoCheckpoint) {
  std::vector<float> first{1}, second{2};
  LoopSession loop;
  loop.variable("first", first);
  loop.variable("second", second);
  testing::MemoryFileSystem disk;
  Saver saver({.file_system = &disk});
  saver.save(loop, {.save_path = "run/m"});
  const std::vector<std::string> before = disk.files();
  second.resize(2);
  first[0] = 9;
  EXPECT_THROW(saver.save(loop, {.save_path = "run/m"}), FailedPreconditionError);
  EXPECT_THROW(saver.save(loop, {.save_path = "run/other"}), FailedPreconditionError);
  EXPECT_EQ(disk.files(), before);
  EXPECT_EQ(BundleReader("run/m", {.file_system = &disk}).get_tensor("first"), Tensor::of<float>({1}));
}

TEST(LoopSession, RefusesACheckpointWithAStepThatNoTrainingReaches) {
  testing::MemoryFileSystem disk;
  float weight = 1;
  LoopSession loop;
  loop.variable("weight", weight);
  loop.open();
  BundleWriter writer("run/m", {.file_system = &disk});
  writer.add("global_step", Tensor((std::numeric_limits<std::int64_t>::max)()));
  writer.add("weight", Tensor(2.0F));
  writer.finish();
  EXPECT_THROW(Saver({.file_system = &disk}).restore(loop, "run/m"), DataLossError);
  EXPECT_EQ(weight, 1.0F);
}

/// What `work` allocates.
struct AllocationsOf {
  template <class Work>
  explicit AllocationsOf(Work&& work) {
    const support::AllocationCount count;
    work();
    bytes = count.bytes();
  }
  std::size_t bytes = 0;
};

struct MemoryOfVariables : ::testing::Test {
  static constexpr std::int64_t kRows = 16 * 1024, kColumns = 256;  // 16 MiB
  static constexpr std::size_t kPiece = std::size_t{1} << 20;

  MemoryOfVariables() {
    std::iota(mine.begin(), mine.end(), 0.F);
    loop.variable(
        "mine", mine,
        {.shape = {kRows, kColumns}, .part_of = {.shape = {kRows + 3, kColumns}, .offset = {3, 0}, .name = "field"}});
    loop.variable("plain", plain);
  }

  support::TemporaryFolder folder;
  std::vector<float> mine = std::vector<float>(kRows * kColumns);
  std::vector<float> plain = std::vector<float>(kRows * kColumns, 1);
  LoopSession loop;
  Saver saver;
};

TEST_F(MemoryOfVariables, IsWhereTheyAreIfThatIsRowMajor) {
  EXPECT_EQ(static_cast<const void*>(loop.memory("mine").bytes.data()), mine.data());
  EXPECT_EQ(loop.memory("mine").shape, (Shape{kRows, kColumns}));
  EXPECT_EQ(loop.memory("mine").dtype, DType::Float);
  std::vector<float> columns(6);
  loop.variable("columns", columns, {.shape = {2, 3}, .layout = Layout::ColumnMajor});
  const OnADevice device(loop, "device");
  loop.state("state", columns);
  for (const char* name : {"columns", "device", "_trainhook/state/state", "nothing"})
    EXPECT_TRUE(loop.memory(name).bytes.empty()) << name;
  plain.resize(5);
  EXPECT_THROW((void)loop.memory("plain"), FailedPreconditionError);
}

TEST_F(MemoryOfVariables, IsWrittenWithoutACopyAndPartsOfTensorsAreReadToIt) {
  constexpr std::int64_t kMore = 3 * kRows;  // 48 MiB, for which no block is kept from another test
  std::vector<float> large(kMore * kColumns);
  std::iota(large.begin(), large.end(), 0.F);
  LoopSession other;
  other.variable("large", large,
                 {.shape = {kMore, kColumns}, .part_of = {.shape = {kMore + 3, kColumns}, .offset = {3, 0}}});
  const AllocationsOf of_save([&] { (void)saver.save(other, {.save_path = folder.file("m")}); });
  EXPECT_LT(of_save.bytes, 2 * kPiece);
  const std::vector<float> saved = std::exchange(large, std::vector<float>(large.size()));
  const AllocationsOf of_restore([&] { saver.restore(other, folder.file("m")); });
  EXPECT_LT(of_restore.bytes, 4 * kPiece);
  EXPECT_EQ(large, saved);
}

TEST_F(MemoryOfVariables, IsRestoredWithWhatIsNoPart) {
  (void)saver.save(loop, {.save_path = folder.file("m")});
  const std::vector<float> saved = std::exchange(mine, std::vector<float>(mine.size()));
  plain.assign(plain.size(), 2);
  saver.restore(loop, folder.file("m"));
  EXPECT_EQ(mine, saved);
  EXPECT_EQ(plain, std::vector<float>(plain.size(), 1));
}

TEST_F(MemoryOfVariables, StaysAsItIsIfAPieceIsDamaged) {
  (void)saver.save(loop, {.save_path = folder.file("m")});
  const std::string data = folder.file("m.data-00000-of-00001");
  std::fstream file(data, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(data) / 3));
  file << "damage";
  file.close();
  std::ranges::fill(mine, 7.F);
  EXPECT_THROW(saver.restore(loop, folder.file("m")), DataLossError);
  EXPECT_EQ(mine, std::vector<float>(mine.size(), 7));
}

TEST_F(MemoryOfVariables, IsFilledInTheOrderOfRegistrationAndThenInitialized) {
  std::string trace;
  loop.state(
      "after", [] { return std::string("x"); }, [&](const std::string&) { trace += std::to_string(mine[1]); });
  (void)saver.save(loop, {.save_path = folder.file("m")});
  const auto is_initialized = [&] {
    const std::vector<StateSpec> state = loop.state();
    return std::ranges::find(state, std::string("mine"), &StateSpec::name)->initialized;
  };
  loop.open();
  loop.close();
  loop.open();  // from the second session on
  std::ranges::fill(mine, 7.F);
  EXPECT_FALSE(is_initialized());
  saver.restore(loop, folder.file("m"));
  EXPECT_TRUE(is_initialized());
  EXPECT_EQ(trace, std::to_string(1.F));
}

TEST_F(MemoryOfVariables, IsCheckedForNumbersThatAreNotFinite) {
  mine[5] = std::numeric_limits<float>::quiet_NaN();
  Saver strict({.refuse_non_finite = true});
  EXPECT_THAT([&] { (void)strict.save(loop, {.save_path = folder.file("m")}); },
              ::testing::ThrowsMessage<FailedPreconditionError>(::testing::HasSubstr("element 5 of 'mine' is NaN")));
}

TEST_F(MemoryOfVariables, TakesNoValueTwiceAndNoneThatNothingFills) {
  const std::vector<NamedTensor> none{{"mine", Tensor()}};
  EXPECT_THROW(loop.load(none), InvalidArgumentError);
  std::vector<float> columns(6);
  loop.variable("columns", columns, {.shape = {2, 3}, .layout = Layout::ColumnMajor});
  const std::vector<NamedTensor> elsewhere{{"columns", Tensor()}};
  EXPECT_THROW(loop.load(elsewhere, [](const std::string&, std::span<std::byte>) {}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
