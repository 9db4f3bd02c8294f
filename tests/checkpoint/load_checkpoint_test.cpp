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
#include <trainhook/io/table_writer.hpp>
#include <trainhook/io/whole_file.hpp>
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

TEST(LoadCheckpoint, CallsACheckpointOfTheV1FormatThat) {
  for (const char* file : {"old/model.ckpt-3", "old/model.ckpt-3-00000-of-00001"}) {
    testing::MemoryFileSystem disk;
    disk.make_directories("old");
    detail::TableWriter table;
    table.add("", "header");
    write_file_atomically(disk, file, table.finish());
    try {
      const BundleReader reader("old/model.ckpt-3", {.file_system = &disk});
      FAIL() << "no error";
    } catch (const NotFoundError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string(file) + " is of TensorFlow's V1 format; restore it in"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace trainhook
