// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of what is fetched by handle or by name.
#include <trainhook/session/fetch_refs.hpp>

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>

namespace trainhook {
namespace {

class FetchRefsTest : public ::testing::Test {
 protected:
  static std::string tags(const FetchRefs& refs) {
    std::string text;
    for (const FetchRefs::Entry& entry : refs.entries()) text += entry.tag + "=" + entry.item.name() + " ";
    return text;
  }

  Graph graph;
  Output loss = constant(graph, Tensor(1.0F), "loss");
  Output rate = constant(graph, Tensor(0.1F), "rate");
  Operation train = graph.add({.type = "NoOp", .name = "train"});
};

TEST_F(FetchRefsTest, OneSeveralOrSeveralWithTagsSortedByTag) {
  EXPECT_TRUE(FetchRefs().empty());
  EXPECT_EQ(FetchRefs().size(), 0U);
  EXPECT_EQ(tags(loss), "loss:0=loss:0 ");
  EXPECT_EQ(tags("loss"), "loss=loss ");
  EXPECT_EQ(tags({train, "loss", rate}), "train=train loss=loss rate:0=rate:0 ");
  EXPECT_EQ(tags({{"b", loss}, {"a", "rate:0"}}), "a=rate:0 b=loss:0 ");
}

TEST_F(FetchRefsTest, RangesAndMapsOfWhateverCanBeFetched) {
  EXPECT_EQ(tags(std::vector<Output>{rate, loss}), "rate:0=rate:0 loss:0=loss:0 ");
  EXPECT_EQ(tags(std::vector<std::string>{"train", "loss"}), "train=train loss=loss ");
  EXPECT_EQ(tags(std::map<std::string, Output>{{"b", loss}, {"a", rate}}), "a=rate:0 b=loss:0 ");
  EXPECT_EQ(tags(std::map<std::string, std::string>{{"b", "loss:0"}, {"a", "train"}}), "a=train b=loss:0 ");
  EXPECT_EQ(tags(std::string("loss")), "loss=loss ");  // a name, not a range of letters
  EXPECT_TRUE(FetchRefs(std::vector<Output>()).empty());
}

TEST_F(FetchRefsTest, ResolvesNamesInTheGraphAndSaysWhoAskedForAWrongOne) {
  const FetchList fetches = FetchRefs({"loss", "train", rate}).resolve(graph, "MyHook");
  ASSERT_EQ(fetches.size(), 3U);
  EXPECT_EQ(fetches[0], Fetch(loss));
  EXPECT_EQ(fetches[1], Fetch(train));
  EXPECT_EQ(fetches[2], Fetch(rate));
  try {
    static_cast<void>(FetchRefs("los").resolve(graph, "MyHook"));
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("MyHook: ")) << error.what();
  }
  EXPECT_THROW(static_cast<void>(FetchRefs(train).resolve_outputs(graph, "MyHook")), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
