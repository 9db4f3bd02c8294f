// SPDX-License-Identifier: Apache-2.0
/// @file
/// Files of other formats in place of a checkpoint: each is named, with the way to a checkpoint.
#include <trainhook/checkpoint/bundle/missing_bundle.hpp>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/io/tables.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MissingBundleTest : public ::testing::Test {
 protected:
  /// What a restore says after someone wrote `contents` to `file`.
  std::string error_with(const std::string& file, const std::string& contents, const std::string& path) {
    disk.make_directories("old");
    disk.write_file(file, contents);
    try {
      const BundleReader reader(path, {.file_system = &disk});
      return "no error";
    } catch (const NotFoundError& error) { return error.what(); }
  }

  testing::MemoryFileSystem disk;
};

TEST_F(MissingBundleTest, NamesTheIndexThatIsNotThere) {
  EXPECT_EQ(detail::missing_bundle(disk, "run/m").what(),
            std::string("there is no checkpoint run/m: run/m.index does not exist"));
}

TEST_F(MissingBundleTest, KnowsACheckpointOfTheV1Format) {
  for (const std::string file : {"old/model.ckpt-3", "old/model.ckpt-3-00000-of-00001"}) {
    detail::TableWriter table;
    table.add("", "header");
    EXPECT_THAT(error_with(file, table.finish(), "old/model.ckpt-3"),
                HasSubstr(file + " is of TensorFlow's V1 format; restore it in TensorFlow"));
    disk.remove_file(file);
  }
}

TEST_F(MissingBundleTest, KnowsASavedModelByItsGraph) {
  const std::string way_out = "a SavedModel; give the path of its variables, old/variables/variables";
  EXPECT_THAT(error_with("old/saved_model.pb", "graph", "old/saved_model.pb"),
              HasSubstr("that is the graph of " + way_out));
  EXPECT_THAT(error_with("old/saved_model.pb", "graph", "old"), HasSubstr("that is the directory of " + way_out));
  disk.remove_file("old/saved_model.pb");
  EXPECT_THAT(error_with("old/saved_model.pbtxt", "graph", "old"), HasSubstr(way_out));
  EXPECT_EQ(detail::variables_of_saved_model(disk, "older"), std::nullopt);
}

TEST_F(MissingBundleTest, KnowsFilesOfKerasByTheirFirstBytes) {
  const auto is_keras = AllOf(HasSubstr("is a file of Keras"), HasSubstr("tf.train.Checkpoint(model=model).write"));
  EXPECT_THAT(error_with("old/model.h5", "\x89HDF\r\n\x1a\n and so on", "old/model.h5"), is_keras);
  EXPECT_THAT(error_with("old/weights", "\x89HDF\r\n\x1a\n and so on", "old/weights"), is_keras);
  EXPECT_THAT(error_with("old/model.keras", "PK\3\4 and so on", "old/model.keras"), is_keras);
}

TEST_F(MissingBundleTest, KnowsFilesThatTheModuleForFilesOfOthersReads) {
  EXPECT_THAT(error_with("old/model.pt", "PK\3\4 and so on", "old/model.pt"),
              AllOf(HasSubstr("as torch.save writes it"), HasSubstr("<trainhook/exchange.hpp>")));
  EXPECT_THAT(
      error_with("old/m.safetensors", "8 bytes and a header", "old/m.safetensors"),
      AllOf(HasSubstr("is a safetensors file"), HasSubstr("th::safetensors(path), of <trainhook/exchange.hpp>")));
}

TEST_F(MissingBundleTest, SaysNothingAboutFilesThatItDoesNotKnow) {
  for (const char* contents : {"", "short", "a longer text", "PK"})
    EXPECT_THAT(error_with("old/m", contents, "old/m"), HasSubstr("old/m.index does not exist"));
}

}  // namespace
}  // namespace trainhook
