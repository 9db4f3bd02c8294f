// SPDX-License-Identifier: Apache-2.0
/// @file
/// VariableSlices: a saver stores and restores the parts of partitioned variables as TensorFlow's does.
#include <trainhook/checkpoint/variable_slices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using ::testing::HasSubstr;
using testing::ScriptedSession;

/// A matrix of 3 rows: two in `m/part_0`, one in `m/part_1`.
class VariableSlicesTest : public ::testing::Test {
 protected:
  VariableSlicesTest() {
    part(script_, "m/part_0", Tensor::of<float>({1, 2, 3, 4}, {2, 2}), 0, 3);
    part(script_, "m/part_1", Tensor::of<float>({5, 6}, {1, 2}), 2, 3);
  }

  static void part(testing::Script& script, const std::string& name, const Tensor& value, std::int64_t row,
                   std::int64_t rows) {
    Variable variable = script.variable(name, value);
    script.graph().remove_from_collection(graph_keys::kGlobalVariables, variable);
    variable.save_slice_info = std::make_shared<const SaveSliceInfo>(SaveSliceInfo{
        .full_name = "m", .full_shape = {rows, 2}, .var_offset = {row, 0}, .var_shape = {value.shape()[0], 2}});
    script.graph().add_to_collection(graph_keys::kGlobalVariables, variable);
  }
  [[nodiscard]] BundleReader reader(const std::string& prefix) { return BundleReader(prefix, {.file_system = &disk_}); }

  testing::MemoryFileSystem disk_;
  testing::Script script_;
};

TEST_F(VariableSlicesTest, PartsAreSavedAsOneVariable) {
  ScriptedSession session(script_);
  Saver saver({.file_system = &disk_});
  const std::string direct = saver.save(session, {.save_path = "run/direct"});
  const std::string later = saver.write(saver.snapshot(session), {.save_path = "run/later"});
  for (const std::string& prefix : {direct, later}) {
    const BundleReader saved = reader(prefix);
    EXPECT_EQ(saved.get_tensor("m"), Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
    EXPECT_EQ(saved.entry("m").slices,
              (std::vector<TensorSlice>{TensorSlice{{0, 2}, {0, 2}}, TensorSlice{{2, 1}, {0, 2}}}));
    EXPECT_FALSE(saved.has_tensor("m/part_0"));
  }
}

TEST_F(VariableSlicesTest, PartsComeOutOfAVariableThatWasCutAnotherWayOrNotAtAll) {
  BundleWriter whole("run/whole", {.file_system = &disk_});
  whole.add("m", Tensor::of<float>({6, 5, 4, 3, 2, 1}, {3, 2}));
  whole.add("global_step", Tensor(std::int64_t{4}));
  whole.finish();
  BundleWriter cut("run/cut", {.file_system = &disk_});
  cut.add_slice("m", {3, 2}, TensorSlice{{0, 1}, {}}, Tensor::of<float>({6, 5}, {1, 2}));
  cut.add_slice("m", {3, 2}, TensorSlice{{1, 2}, {}}, Tensor::of<float>({4, 3, 2, 1}, {2, 2}));
  cut.add("global_step", Tensor(std::int64_t{4}));
  cut.finish();
  for (const char* prefix : {"run/whole", "run/cut"}) {
    ScriptedSession session(script_);
    Saver({.file_system = &disk_}).restore(session, prefix);
    EXPECT_EQ(session.variable("m/part_0"), Tensor::of<float>({6, 5, 4, 3}, {2, 2})) << prefix;
    EXPECT_EQ(session.variable("m/part_1"), Tensor::of<float>({2, 1}, {1, 2})) << prefix;
  }
}

TEST_F(VariableSlicesTest, PartsThatWereSavedByTheirOwnNamesAreRestored) {
  BundleWriter old("run/old", {.file_system = &disk_});  // as versions wrote that did not know of parts
  old.add("m/part_0", Tensor::of<float>({6, 5, 4, 3}, {2, 2}));
  old.add("m/part_1", Tensor::of<float>({2, 1}, {1, 2}));
  old.add("global_step", Tensor(std::int64_t{4}));
  old.finish();
  ScriptedSession session(script_);
  Saver({.file_system = &disk_}).restore(session, "run/old");
  EXPECT_EQ(session.variable("m/part_1"), Tensor::of<float>({2, 1}, {1, 2}));
}

TEST_F(VariableSlicesTest, AWholeOfAnotherShapeIsRefused) {
  testing::Script taller;
  part(taller, "m/part_0", Tensor::of<float>({1, 2, 3, 4}, {2, 2}), 0, 4);
  part(taller, "m/part_1", Tensor::of<float>({5, 6, 7, 8}, {2, 2}), 2, 4);
  ScriptedSession other(taller);
  const std::string prefix = Saver({.file_system = &disk_}).save(other, {.save_path = "run/taller"});
  ScriptedSession session(script_);
  try {
    Saver({.file_system = &disk_}).restore(session, prefix);
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'m/part_0' is a part of 'm', which is float32[3,2] in the model and "
                                        "float32[4,2] in checkpoint run/taller"));
  }
  EXPECT_EQ(session.variable("m/part_1"), Tensor::of<float>({5, 6}, {1, 2}));
}

TEST_F(VariableSlicesTest, AMissingWholeIsNamedWithWhatIsLikeIt) {
  BundleWriter other("run/other", {.file_system = &disk_});
  other.add("n/m", Tensor::of<float>({6, 5, 4, 3, 2, 1}, {3, 2}));
  other.add("global_step", Tensor(std::int64_t{4}));
  other.finish();
  ScriptedSession session(script_);
  EXPECT_THAT([&] { Saver({.file_system = &disk_}).restore(session, "run/other"); },
              ::testing::ThrowsMessage<NotFoundError>(HasSubstr("names like it are: n/m")));
}

TEST_F(VariableSlicesTest, AMissingPartIsNamed) {
  ScriptedSession session(script_);
  Saver some({.var_list = {"m/part_0"}, .file_system = &disk_});
  try {
    some.save(session, {.save_path = "run/some"});
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tensor m[3,2] of checkpoint run/some hold 4 of its 6 elements"));
  }
}

TEST_F(VariableSlicesTest, ALargePartOfThisProcessIsSavedInPieces) {
  testing::Script script;
  Tensor value = Tensor::uninitialized(DType::Double, {3, 1200, 128});  // a row has more than 1 MiB
  for (std::size_t i = 0; i < value.overwrite_data<double>().size(); ++i)
    value.mutable_data<double>()[i] = static_cast<double>(i);
  Variable variable = script.variable("wide", value);
  script.graph().remove_from_collection(graph_keys::kGlobalVariables, variable);
  variable.save_slice_info = std::make_shared<const SaveSliceInfo>(SaveSliceInfo{.full_name = "all",
                                                                                 .full_shape = {3, 1500, 128},
                                                                                 .var_offset = {0, 200, 0},
                                                                                 .var_shape = {3, 1200, 128},
                                                                                 .is_own = true});
  script.graph().add_to_collection(graph_keys::kGlobalVariables, variable);
  EXPECT_EQ(detail::VariableSlices(script.graph()).own(), std::vector<std::string>{"wide"});
  ScriptedSession session(script);
  const std::string prefix = Saver({.file_system = &disk_}).save(session, {.save_path = "run/wide"});
  const BundleReader saved = reader(prefix);
  EXPECT_EQ(saved.entry("all").slices, (std::vector<TensorSlice>{TensorSlice{{0, 1}, {200, 1200}, {0, 128}},
                                                                 TensorSlice{{1, 1}, {200, 1200}, {0, 128}},
                                                                 TensorSlice{{2, 1}, {200, 1200}, {0, 128}}}));
  EXPECT_EQ(saved.get_tensor("all", TensorSlice{{}, {200, 1200}, {}}), value);
  std::ranges::fill(session.variable("wide").overwrite_data<double>(), 0.0);
  Saver({.file_system = &disk_}).restore(session, prefix);
  EXPECT_EQ(session.variable("wide"), value);
}

}  // namespace
}  // namespace trainhook
