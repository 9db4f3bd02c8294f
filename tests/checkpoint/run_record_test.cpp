// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of what a training directory tells of the run that wrote it last.
#include <trainhook/checkpoint/run_record.hpp>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <temporary_folder.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using detail::read_run_record;
using detail::renew_run_record;
using detail::run_record_of;
using detail::RunRecord;
using detail::write_run_record;

class RunRecordTest : public ::testing::Test {
 protected:
  testing::MemoryFileSystem disk;
  const RunRecord record{
      .command_line = "train \"--rate=0.1\"\n", .random_seed = -7, .graph_fingerprint = 4'000'000'000};
};

TEST_F(RunRecordTest, ComesBackFromItsDirectoryAsItWas) {
  EXPECT_FALSE(read_run_record(disk, "run"));
  write_run_record(disk, "run", record);
  EXPECT_EQ(read_run_record(disk, "run"), record);
  EXPECT_EQ(read_file(disk, "run/run.pbtxt"),
            "command_line: \"train \\\"--rate=0.1\\\"\\n\"\nrandom_seed: -7\ngraph_fingerprint: 4000000000\n");
}

TEST_F(RunRecordTest, HasAFingerprintOfTheGraphThatChangesWithAllThatANodeIs) {
  const Attrs attrs{{"t", Tensor::of<float>({1, 2})},
                    {"s", std::string("a")},
                    {"i", std::int64_t{1}},
                    {"f", 1.0F},
                    {"b", true},
                    {"d", DType::Float},
                    {"p", PartialShape{2}},
                    {"n", Tensor("text")},
                    {"is", std::vector<std::int64_t>{1}},
                    {"fs", std::vector<float>{1}},
                    {"ds", std::vector{DType::Half}},
                    {"ss", std::vector<std::string>{"a"}},
                    {"ps", std::vector{PartialShape{1}}}};
  const auto fingerprint_of = [](const NodeSpec& changed, bool feeds_on_other = false, bool waits_for_other = false) {
    Graph graph;
    const Node& one = graph.add({.type = "One", .name = "one", .outputs = {{DType::Float, Shape{}}}}).node();
    const Node& two = graph.add({.type = "One", .name = "two", .outputs = {{DType::Float, Shape{}}}}).node();
    NodeSpec spec = changed;
    spec.inputs = {Output(const_cast<Node*>(feeds_on_other ? &two : &one), 0)};
    spec.control_inputs = {Operation(const_cast<Node*>(waits_for_other ? &one : &two))};
    graph.add(spec);
    return run_record_of(graph).graph_fingerprint;
  };
  const NodeSpec plain{.type = "Op", .name = "op", .attrs = attrs};
  std::set<std::uint32_t> seen{fingerprint_of(plain)};
  EXPECT_EQ(fingerprint_of(plain), *seen.begin());
  EXPECT_TRUE(seen.insert(fingerprint_of(plain, true)).second);
  EXPECT_TRUE(seen.insert(fingerprint_of(plain, false, true)).second);
  EXPECT_TRUE(seen.insert(fingerprint_of({.type = "Or", .name = "op", .attrs = attrs})).second);
  EXPECT_TRUE(seen.insert(fingerprint_of({.type = "Op", .name = "or", .attrs = attrs})).second);
  const std::vector<std::pair<std::string, AttrValue>> others{{"t", Tensor::of<float>({1, 3})},
                                                              {"s", std::string("b")},
                                                              {"i", std::int64_t{2}},
                                                              {"f", 2.0F},
                                                              {"b", false},
                                                              {"d", DType::Double},
                                                              {"p", PartialShape{}},
                                                              {"n", Tensor("texts")},
                                                              {"is", std::vector<std::int64_t>{1, 1}},
                                                              {"fs", std::vector<float>{2}},
                                                              {"ds", std::vector<DType>{}},
                                                              {"ss", std::vector<std::string>{"a", ""}},
                                                              {"ps", std::vector{PartialShape{2}}}};
  for (const auto& [key, value] : others) {
    NodeSpec changed = plain;
    changed.attrs.insert_or_assign(key, value);
    EXPECT_TRUE(seen.insert(fingerprint_of(changed)).second) << key;
  }
}

TEST_F(RunRecordTest, OfALaterVersionIsReadAndADamagedOneIsAnErrorThatNamesIt) {
  disk.make_directories("run");
  write_file_atomically(disk, "run/run.pbtxt", "random_seed: 1 of_a_later_version: 2");
  EXPECT_EQ(read_run_record(disk, "run")->random_seed, 1);
  write_file_atomically(disk, "run/run.pbtxt", "random_seed: {");
  try {
    static_cast<void>(read_run_record(disk, "run"));
    FAIL();
  } catch (const DataLossError& error) {
    EXPECT_NE(std::string(error.what()).find("run/run.pbtxt"), std::string::npos);
  }
}

TEST_F(RunRecordTest, OfARunThatGoesOnKeepsWhatWasSaidOfTheRestore) {
  write_run_record(disk, "run", {.command_line = "before", .restored = "from old/m-3"});
  renew_run_record(disk, "run", record);
  EXPECT_EQ(read_run_record(disk, "run")->command_line, record.command_line);
  EXPECT_EQ(read_run_record(disk, "run")->restored, "from old/m-3");
}

TEST_F(RunRecordTest, ThatIsDamagedIsReplaced) {
  disk.make_directories("run");
  write_file_atomically(disk, "run/run.pbtxt", "random_seed: {");
  renew_run_record(disk, "run", record);
  EXPECT_EQ(read_run_record(disk, "run"), record);
}

TEST_F(RunRecordTest, ThatIsCutOffIsReplaced) {
  write_run_record(disk, "run", record);
  const std::string whole = disk.contents("run/run.pbtxt");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    disk.write_file("run/run.pbtxt", whole.substr(0, size));
    EXPECT_NO_THROW(renew_run_record(disk, "run", record)) << "cut to " << size;
  }
}

TEST_F(RunRecordTest, SaysWhatDiffers) {
  RunRecord now = record;
  EXPECT_EQ(record.differences(now), "");
  now.random_seed = 3;
  EXPECT_EQ(record.differences(now), "the seed was -7 and is 3");
  now.command_line = "train";
  now.graph_fingerprint = 1;
  EXPECT_EQ(record.differences(now),
            "the command line is another one, the seed was -7 and is 3, the graph is "
            "another one");
}

TEST_F(RunRecordTest, OfAnEarlierVersionDoesNotDifferByItsGraph) {
  disk.make_directories("run");
  write_file_atomically(disk, "run/run.pbtxt", "graph_digest: 4000000000\nrandom_seed: -7\n");
  EXPECT_EQ(read_run_record(disk, "run")->differences(record), "");
}

TEST_F(RunRecordTest, ThatLacksTheCommandLineDoesNotDifferByIt) {
  RunRecord without = record;
  without.command_line.clear();
  EXPECT_EQ(record.differences(without), "");
  EXPECT_EQ(without.differences(record), "");
}

TEST_F(RunRecordTest, SaysThatTheKernelsAreOfAnotherWidthIfBothAreKnown) {
  RunRecord before = record;
  RunRecord now = record;
  before.kernel_width = "avx2";
  EXPECT_EQ(before.differences(now), "");
  EXPECT_EQ(now.differences(before), "");
  now.kernel_width = "sse2";
  EXPECT_EQ(before.differences(now),
            "its kernels used avx2, these use sse2 and give other last bits (an engine's `width` fixes it)");
}

TEST_F(RunRecordTest, CanBeReadByItsUserOnlyAlsoInPlaceOfAFileThatAllCouldRead) {
  const support::TemporaryFolder folder;
  const auto path = std::filesystem::path(folder.path()) / "run.pbtxt";
  const auto permissions = [&] { return std::filesystem::status(path).permissions(); };
  constexpr auto kOwner = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  write_run_record(posix_file_system(), folder.path(), record);
  EXPECT_EQ(permissions(), kOwner);
  std::filesystem::permissions(path, std::filesystem::perms::all);
  write_run_record(posix_file_system(), folder.path(), record);
  EXPECT_EQ(permissions(), kOwner);
  EXPECT_EQ(read_run_record(posix_file_system(), folder.path()), record);
}

TEST(RunRecord, OfThisProcessChangesWithTheGraphAndItsSeed) {
  Graph graph;
  const RunRecord empty = run_record_of(graph);
  EXPECT_NE(empty.command_line.find("checkpoint_test"), std::string::npos) << empty.command_line;
  EXPECT_EQ(run_record_of(graph), empty);
  static_cast<void>(constant(graph, Tensor(1.0F), "one"));
  EXPECT_EQ(empty.differences(run_record_of(graph)), "the graph is another one");
  graph.set_random_seed(3);
  EXPECT_EQ(run_record_of(graph).random_seed, 3);
}

}  // namespace
}  // namespace trainhook
