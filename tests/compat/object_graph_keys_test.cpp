// SPDX-License-Identifier: Apache-2.0
/// @file
/// Variables of object-based checkpoints by their full names.
#include <trainhook/compat/object_graph_keys.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_shards.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/compat/checkpoint_manager.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

#include "damage.hpp"
#include "data_files.hpp"

namespace trainhook {
namespace {

using ::testing::HasSubstr;
using testing::MemoryFileSystem;
using ::testing::ThrowsMessage;
using Variables = std::vector<std::pair<std::string, std::string>>;

const std::string kGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";

template <class T>
std::string element(std::uint32_t number, const T& value) {
  std::string bytes;
  detail::append_element(bytes, number, value);
  return bytes;
}

/// A graph of the objects with one node for each variable, given as full name and key.
std::string object_graph(const Variables& variables) {
  std::string text = element(1, element(1, element(1, 1)));  // the root, with a child
  for (const auto& variable : variables) {
    const std::string attribute =
        element(1, std::string("VARIABLE_VALUE")) + element(2, variable.first) + element(3, variable.second);
    text += element(1, element(2, attribute));
  }
  return text;
}

ObjectGraphKeys keys_of(const Tensor& graph) {
  MemoryFileSystem disk;
  BundleWriter writer("run/c", {.file_system = &disk});
  writer.add(kGraph, graph);
  writer.finish();
  return ObjectGraphKeys(BundleReader("run/c", {.file_system = &disk}));
}

TEST(ObjectGraphKeys, FindsVariablesAndSlotsByFullName) {
  const ObjectGraphKeys keys =
      keys_of(object_graph({{"w", "model/w/V"}, {"w/Adam", "model/w/.OPTIMIZER_SLOT/o/m/V"}, {"", "counter"}}));
  EXPECT_EQ(keys.keys(), (ObjectGraphKeys::Keys{{"w", "model/w/V"}, {"w/Adam", "model/w/.OPTIMIZER_SLOT/o/m/V"}}));
  EXPECT_EQ(keys.key("w/Adam"), "model/w/.OPTIMIZER_SLOT/o/m/V");
}

TEST(ObjectGraphKeys, NamesWhatIsThereInsteadOfAMissingName) {
  const ObjectGraphKeys keys = keys_of(object_graph({{"dense/kernel", "a"}, {"dense/bias", "b"}}));
  try {
    static_cast<void>(keys.key("hidden/kernel"));
    ADD_FAILURE() << "no error";
  } catch (const NotFoundError& error) {
    EXPECT_STREQ(error.what(),
                 "object-based checkpoint run/c has no variable hidden/kernel; names like it are: dense/kernel");
  }
}

TEST(ObjectGraphKeys, RefusesAFullNameThatTwoVariablesHave) {
  const ObjectGraphKeys keys = keys_of(object_graph({{"w", "a/w"}, {"w", "b/w"}, {"v", "c"}, {"v", "c"}}));
  EXPECT_EQ(keys.key("v"), "c");
  try {
    static_cast<void>(keys.key("w"));
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("several variables called w: a/w and b/w"), std::string::npos)
        << error.what();
  }
}

TEST(ObjectGraphKeys, WantsAGraph) {
  MemoryFileSystem disk;
  BundleWriter writer("run/c", {.file_system = &disk});
  writer.add("w", 1.0f);
  writer.finish();
  const BundleReader reader("run/c", {.file_system = &disk});
  EXPECT_FALSE(ObjectGraphKeys::is_object_based(reader));
  EXPECT_THROW(ObjectGraphKeys{reader}, NotFoundError);
  EXPECT_THROW(keys_of(Tensor(1.0f)), DataLossError);
  EXPECT_THROW(keys_of(Tensor::of<std::string>({"", ""})), DataLossError);
}

TEST(ObjectGraphKeys, EveryTruncationOfTheGraphIsAnErrorOrGivesFewerNames) {
  const Variables variables = {{"w", "model/w"}, {"b", "model/b"}};
  const ObjectGraphKeys::Keys whole(variables.begin(), variables.end());
  const std::string graph = object_graph(variables);
  for (std::size_t size = 0; size < graph.size(); ++size) {
    try {
      const ObjectGraphKeys keys = keys_of(graph.substr(0, size));
      for (const auto& name : keys.keys()) EXPECT_TRUE(whole.contains(name.first)) << size;
    } catch (const DataLossError& error) {
      EXPECT_NE(std::string(error.what()).find("the object graph of checkpoint run/c"), std::string::npos)
          << error.what();
    }
  }
}

TEST(ObjectGraphKeys, AFlippedBitOfTheGraphIsAnErrorOrGivesOtherNamesThoughTheChecksumFits) {
  const std::string graph = object_graph({{"w", "model/w"}, {"b", "model/b"}});
  const auto read = [](const std::string& damaged) { return keys_of(damaged); };
  testing::expect_refused_or_read(graph, "the object graph of checkpoint run/c", read);
}

TEST(ObjectGraphKeysOfTensorFlow, ReadsVariablesAndSlotsByFullNames) {
  const BundleReader reader(testing::data_file("object_based"));
  const ObjectGraphKeys keys(reader);
  const auto read = [&](const char* name) { return reader.get_tensor(keys.key(name)); };
  EXPECT_EQ(keys.keys().size(), 9U);
  EXPECT_EQ(keys.key("dense/kernel"), "model/kernel/.ATTRIBUTES/VARIABLE_VALUE");
  EXPECT_EQ(read("global_step").scalar<std::int64_t>(), 1);
  EXPECT_EQ(read("dense/kernel").shape(), (Shape{2, 3}));
  EXPECT_NEAR(read("dense/bias").data<float>()[0], -0.125, 1e-6);
  EXPECT_NEAR(read("dense/bias/Adam").data<float>()[2], 0.1, 1e-6);
  EXPECT_NEAR(read("dense/kernel/Adam_1").data<float>()[5], 0.001, 1e-6);
  EXPECT_NEAR(read("beta1_power").scalar<float>(), 0.81, 1e-6);
}

TEST(ObjectGraphKeysOfTensorFlow, NeverTakesDamageForNames) {
  const std::string prefix = testing::data_file("object_based");
  const std::vector<std::string> suffixes = {".index", ".data-00000-of-00001"};
  MemoryFileSystem disk;
  for (const std::string& suffix : suffixes)
    disk.write_file("run/c" + suffix, read_file(posix_file_system(), prefix + suffix));
  for (const std::string& suffix : suffixes) {
    const std::string contents = disk.contents("run/c" + suffix);
    testing::expect_refused_or_same(contents, "run/c", [&](const std::string& damaged) {
      disk.write_file("run/c" + suffix, damaged);
      return ObjectGraphKeys(BundleReader("run/c", {.file_system = &disk})).keys();
    });
    disk.write_file("run/c" + suffix, contents);
  }
}

class OpenObjectBased : public ::testing::Test {
 protected:
  OpenObjectBased() {
    script_.variable("w", Tensor::of<float>({1, 2, 3}));
    script_.variable("layer/v", 5.0f);
  }

  void write(const Variables& variables) {
    BundleWriter writer("run/c", {.file_system = &disk_, .overwrite = true});
    writer.add(kGraph, object_graph(variables));
    writer.add("model/w", Tensor::of<float>({4, 5, 6}));
    writer.add("other/w", Tensor::of<float>({0, 0, 0}));
    writer.add("model/v", 8.0f);
    writer.add("step", std::int64_t{3});
    writer.finish();
  }
  [[nodiscard]] Saver saver() { return Saver({.format = open_object_based, .file_system = &disk_}); }

  MemoryFileSystem disk_;
  testing::Script script_;
  testing::ScriptedSession session_{script_};
};

TEST_F(OpenObjectBased, ASaverFindsVariablesByTheirFullNames) {
  write({{"w", "model/w"}, {"layer/v", "model/v"}, {"global_step", "step"}});
  saver().restore(session_, "run/c");
  EXPECT_EQ(session_.variable("w"), Tensor::of<float>({4, 5, 6}));
  EXPECT_EQ(session_.variable("layer/v"), Tensor(8.0f));
  EXPECT_EQ(session_.variable("global_step").scalar<std::int64_t>(), 3);
}

TEST_F(OpenObjectBased, ASourceOfThisFormatNeedsNoOptionOfTheSaver) {
  write({{"w", "model/w"}, {"layer/v", "model/v"}, {"global_step", "step"}});
  Saver({.file_system = &disk_}).restore(session_, {"run/c", open_object_based});
  EXPECT_EQ(session_.variable("w"), Tensor::of<float>({4, 5, 6}));
}

TEST_F(OpenObjectBased, ListsVariablesByTheirFullNamesAndOthersByTheirKeys) {
  write({{"w", "model/w"}, {"w", "other/w"}, {"layer/v", "model/v"}, {"global_step", "step"}});
  const auto contents = open_object_based("run/c", disk_, BundleFiles::Check);
  EXPECT_EQ(contents->names(), (std::vector<std::string>{"global_step", "layer/v", "model/w", "other/w"}));
  EXPECT_EQ(contents->names("layer"), std::vector<std::string>{"layer/v"});
}

TEST_F(OpenObjectBased, RestoreRulesAreAboutFullNames) {
  write({{"net/w", "model/w"}, {"net/v", "model/v"}, {"global_step", "step"}});
  const RestoreRules rules{.from = {"run/c", open_object_based}, .rename = {{"net/w", "w"}, {"net/v", "layer/v"}}};
  const std::shared_ptr<const RestorePolicy> policy = rules;
  testing::LogLines log;
  policy->restore(session_, saver(), policy->from(), "", [] {});
  EXPECT_EQ(session_.variable("w"), Tensor::of<float>({4, 5, 6}));
  EXPECT_EQ(session_.variable("layer/v"), Tensor(8.0f));
  EXPECT_EQ(log.count("Began with run/c: names restored: 3, kept at the initial value: 0, left over: 1 ('other/w')"),
            1U);
}

TEST_F(OpenObjectBased, AVariableThatIsMissingOrThereTwiceIsAnErrorAndNothingChanges) {
  write({{"w", "model/w"}, {"other/v", "model/v"}, {"global_step", "step"}});
  EXPECT_THAT([&] { saver().restore(session_, "run/c"); },
              ThrowsMessage<NotFoundError>(
                  "object-based checkpoint run/c has no variable layer/v; names like it are: other/v"));
  write({{"w", "model/w"}, {"w", "other/w"}, {"layer/v", "model/v"}, {"global_step", "step"}});
  EXPECT_THAT([&] { saver().restore(session_, "run/c"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("several variables called w: model/w and other/w")));
  EXPECT_EQ(session_.variable("w"), Tensor::of<float>({1, 2, 3}));
}

TEST_F(OpenObjectBased, ATensorThatTheIndexLacksIsNamed) {
  write({{"w", "model/w"}, {"layer/v", "model/lost"}, {"global_step", "step"}});
  EXPECT_THAT([&] { saver().restore(session_, "run/c"); },
              ThrowsMessage<NotFoundError>(HasSubstr("checkpoint run/c has no tensor model/lost")));
}

TEST_F(OpenObjectBased, ACheckpointManagerGoesOnFromOne) {
  write({{"w", "model/w"}, {"layer/v", "model/v"}, {"global_step", "step"}});
  update_checkpoint_state(disk_, "run", {.model_checkpoint_path = "run/c"});
  CheckpointManager manager("run", 3, {.format = open_object_based, .file_system = &disk_});
  EXPECT_EQ(manager.restore_or_initialize(session_), "run/c");
  EXPECT_EQ(session_.variable("w"), Tensor::of<float>({4, 5, 6}));
}

TEST_F(OpenObjectBased, WhatASaverWroteIsReadAsItIs) {
  const std::string prefix = saver().save(session_, {.save_path = "run/own"});
  session_.load(std::vector<NamedTensor>{{"w", Tensor::of<float>({0, 0, 0})}});
  saver().restore(session_, prefix);
  EXPECT_EQ(session_.variable("w"), Tensor::of<float>({1, 2, 3}));
}

TEST_F(OpenObjectBased, RestoresWhatTensorFlow2Saved) {
  testing::Script model;
  model.variable("dense/kernel/Adam", Tensor(DType::Float, Shape{2, 3}));
  testing::ScriptedSession session(model);
  Saver({.format = open_object_based}).restore(session, testing::data_file("object_based"));
  EXPECT_NEAR(session.variable("dense/kernel/Adam").data<float>()[5], 0.1, 1e-6);
  EXPECT_EQ(session.variable("global_step").scalar<std::int64_t>(), 1);
}

}  // namespace
}  // namespace trainhook
