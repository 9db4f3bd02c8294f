// SPDX-License-Identifier: Apache-2.0
/// @file
/// Variables of object-based checkpoints by their full names.
#include <trainhook/checkpoint/object_graph_keys.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle_writer.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"

namespace trainhook {
namespace {

using testing::MemoryFileSystem;
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

}  // namespace
}  // namespace trainhook
