// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of what a run computes: outputs, operations, variables.
#include <trainhook/session/fetch.hpp>

#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

namespace trainhook {
namespace {

class FetchTest : public ::testing::Test {
 protected:
  Graph graph;
  Output loss = constant(graph, Tensor(1.0F), "loss");
  Output step = constant(graph, Tensor(std::int64_t{3}), "step");
  Operation train = graph.add({.type = "NoOp", .name = "train"});
  Variable weights = make_variable("weights", loss);
};

TEST_F(FetchTest, IsAnOutputAnOperationOrAVariable) {
  EXPECT_EQ(&Fetch(loss).node(), &loss.node());
  EXPECT_EQ(Fetch(loss).index(), 0);
  EXPECT_FALSE(Fetch(loss).is_operation());
  EXPECT_TRUE(Fetch(train).is_operation());
  EXPECT_EQ(Fetch(weights), Fetch(weights.read));
  EXPECT_FALSE(Fetch(loss) == Fetch(loss.operation()));  // its value, or its effect
}

TEST_F(FetchTest, AnEmptyHandleIsAnErrorWhereItIsAskedFor) {
  EXPECT_THROW(static_cast<void>(Fetch(Output())), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(Fetch(Operation())), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(FetchList{loss, Output()}), InvalidArgumentError);
}

TEST_F(FetchTest, AListComesFromAnythingThatCanBeFetched) {
  EXPECT_EQ(FetchList(loss)[0], Fetch(loss));
  EXPECT_EQ(FetchList(train)[0], Fetch(train));
  EXPECT_EQ(FetchList(weights)[0], Fetch(weights));
  const FetchList of_vector(std::vector<Output>{loss, step});
  ASSERT_EQ(of_vector.size(), 2U);
  EXPECT_EQ(of_vector[1], Fetch(step));
}

}  // namespace
}  // namespace trainhook
