// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saves that take one value after the other, without a snapshot of the whole model.
#include <trainhook/loop/loop_session.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

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

}  // namespace
}  // namespace trainhook
