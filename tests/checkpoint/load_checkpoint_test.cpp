// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a checkpoint holds, asked for by its path or by that of its directory.
#include <trainhook/checkpoint/load_checkpoint.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "data_files.hpp"

namespace trainhook {
namespace {

using ::testing::AllOf;
using testing::data_file;
using ::testing::HasSubstr;

using Listed = std::vector<NamedShape>;

class LoadCheckpointTest : public ::testing::Test {
 protected:
  LoadCheckpointTest() {
    write("run/model.ckpt-1", 1);
    write("run/model.ckpt-2", 2);
    update_checkpoint_state(disk, "run",
                            {.model_checkpoint_path = "run/model.ckpt-2",
                             .all_model_checkpoint_paths = {"run/model.ckpt-1", "run/model.ckpt-2"}});
  }
  void write(const std::string& prefix, float weight) {
    BundleWriter writer(prefix, {.file_system = &disk});
    writer.add("weights", Tensor::of<float>({weight, weight}, {2, 1}));
    writer.add("global_step", Tensor(std::int64_t{7}));
    writer.finish();
  }

  /// What it throws, as text.
  template <class Call>
  std::string error_of(Call call) {
    try {
      static_cast<void>(call());
    } catch (const Error& error) { return error.to_string(); }
    return "nothing was thrown";
  }

  testing::MemoryFileSystem disk;
};

TEST_F(LoadCheckpointTest, OpensWhatThePrefixNames) {
  EXPECT_EQ(load_checkpoint(disk, "run/model.ckpt-1").prefix(), "run/model.ckpt-1");
  EXPECT_EQ(load_variable(disk, "run/model.ckpt-1", "weights"), Tensor::of<float>({1, 1}, {2, 1}));
}

TEST_F(LoadCheckpointTest, ADirectoryMeansItsNewest) {
  EXPECT_EQ(load_checkpoint(disk, "run").prefix(), "run/model.ckpt-2");
  EXPECT_EQ(load_variable(disk, "run", "weights"), Tensor::of<float>({2, 2}, {2, 1}));
}

TEST_F(LoadCheckpointTest, TheNewestIsTheOneThatTheStateFileNames) {
  write("run/model.ckpt-3", 3);
  EXPECT_EQ(load_checkpoint(disk, "run").prefix(), "run/model.ckpt-2");
}

TEST_F(LoadCheckpointTest, ListsNamesAndShapesByName) {
  EXPECT_EQ(list_variables(disk, "run"), (Listed{{"global_step", {}}, {"weights", {2, 1}}}));
  EXPECT_EQ(list_variables(disk, "run/model.ckpt-1"), list_variables(disk, "run"));
}

TEST_F(LoadCheckpointTest, AVariableMayBeNamedAsInAGraph) {
  EXPECT_EQ(load_variable(disk, "run", "global_step:0"), Tensor(std::int64_t{7}));
  EXPECT_THROW(static_cast<void>(load_variable(disk, "run", "global_step:1")), NotFoundError);
}

TEST_F(LoadCheckpointTest, SaysWhichVariablesThereAreInstead) {
  EXPECT_THAT(error_of([&] { return load_variable(disk, "run", "biases"); }),
              AllOf(HasSubstr("NotFound: checkpoint run/model.ckpt-2 has no tensor biases"), HasSubstr("weights")));
}

TEST_F(LoadCheckpointTest, ADirectoryWithoutAStateFileIsAnErrorThatNamesACheckpoint) {
  disk.remove_file("run/checkpoint");
  const std::string expected =
      "InvalidArgument: Couldn't find 'checkpoint' file or checkpoints in given directory run; give the path of a "
      "checkpoint, such as run/model.ckpt-2";
  EXPECT_EQ(error_of([&] { return load_checkpoint(disk, "run"); }), expected);
  EXPECT_EQ(error_of([&] { return list_variables(disk, "run"); }), expected);
  EXPECT_EQ(error_of([&] { return load_variable(disk, "run", "weights"); }), expected);
}

TEST_F(LoadCheckpointTest, AnEmptyDirectoryIsAnError) {
  disk.make_directories("empty");
  EXPECT_EQ(error_of([&] { return load_checkpoint(disk, "empty"); }),
            "InvalidArgument: Couldn't find 'checkpoint' file or checkpoints in given directory empty; it holds no "
            "checkpoint");
}

TEST_F(LoadCheckpointTest, ADirectoryWithoutAStateFileIsAnErrorThatNamesACheckpointWithoutAStep) {
  disk.make_directories("written");
  write("written/weights", 1);
  EXPECT_THAT(error_of([&] { return load_checkpoint(disk, "written"); }),
              HasSubstr("give the path of a checkpoint, such as written/weights"));
}

TEST_F(LoadCheckpointTest, APrefixMayEndLikeADirectory) {
  disk.make_directories("written");
  write("written/m", 4);
  for (const char* const ending : {".index", ".data-00000-of-00001"})
    disk.rename(std::string("written/m") + ending, std::string("written/") + ending);
  EXPECT_THAT(error_of([&] { return load_checkpoint(disk, "written"); }), HasSubstr("such as written/"));
  EXPECT_EQ(load_variable(disk, "written/", "weights"), Tensor::of<float>({4, 4}, {2, 1}));
  EXPECT_EQ(load_checkpoint(disk, "run/").prefix(), "run/model.ckpt-2") << "and a directory, too";
}

TEST_F(LoadCheckpointTest, ASavedModelMeansItsVariables) {
  disk.make_directories("exported/variables");
  disk.write_file("exported/saved_model.pb", "a graph");
  write("exported/variables/variables", 3);
  EXPECT_EQ(load_checkpoint(disk, "exported").prefix(), "exported/variables/variables");
  EXPECT_EQ(load_variable(disk, "exported", "weights"), Tensor::of<float>({3, 3}, {2, 1}));
}

TEST_F(LoadCheckpointTest, AStateFileWhoseNewestIsGoneIsAnError) {
  const testing::LogLines log;
  disk.remove_file("run/model.ckpt-2.index");
  EXPECT_THROW(static_cast<void>(load_checkpoint(disk, "run")), InvalidArgumentError);
}

TEST_F(LoadCheckpointTest, NeitherDirectoryNorCheckpointIsNotFound) {
  EXPECT_THAT(error_of([&] { return load_checkpoint(disk, "none/model.ckpt-1"); }),
              HasSubstr("NotFound: there is no checkpoint none/model.ckpt-1"));
}

TEST(LoadCheckpointOfTensorFlow, ListsAPartitionedVariableOnce) {
  EXPECT_EQ(list_variables(data_file("partitioned")), (Listed{{"columns", {2, 6}}, {"rows", {7, 2}}, {"whole", {3}}}));
}

TEST(LoadCheckpointOfTensorFlow, ListsTheObjectGraphAsTensorFlowDoes) {
  std::vector<std::string> names;
  for (const auto& [name, shape] : list_variables(data_file("object_based"))) names.push_back(name);
  EXPECT_THAT(names, ::testing::Contains("_CHECKPOINTABLE_OBJECT_GRAPH"));
}

}  // namespace
}  // namespace trainhook
