// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tags, nodes and the collection of summaries.
#include <trainhook/graph/ops/summary.hpp>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/variable.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

std::string tag_of(const Output& summary) {
  return summary.node().inputs()[0].node().attr<Tensor>("value").scalar<std::string>();
}

struct Summary : ::testing::Test {
  Output in(const PartialShape& shape, DType dtype = DType::Float) { return placeholder(graph, dtype, shape, "x"); }
  Graph graph;
};

TEST_F(Summary, TagIsTheNameOfTheNodeUnderItsScope) {
  const Output x = in(Shape{});
  const Output plain = summary::scalar("loss", x);
  EXPECT_EQ(tag_of(plain), "loss");
  EXPECT_EQ(plain.name(), "loss:0");
  EXPECT_EQ(plain.node().inputs()[0].name(), "loss/tags:0");
  const Graph::Scope scope = graph.name_scope("eval");
  const Output inner = summary::scalar("loss", x);
  EXPECT_EQ(tag_of(inner), "eval/loss");
  EXPECT_EQ(inner.node().inputs()[0].name(), "eval/loss/tags:0");
  EXPECT_EQ(tag_of(summary::scalar("a/loss", x)), "eval/a/loss");
  const Output after = identity(x, "after");
  EXPECT_EQ(after.name(), "eval/after:0");
}

TEST_F(Summary, ATagThatANodeHasGetsANumber) {
  const Variable w = make_variable("w", zeros(graph, {2}));
  constant(graph, Tensor(1.0F), "LOSS");
  EXPECT_EQ(tag_of(summary::histogram("w", w)), "w_1");
  EXPECT_EQ(tag_of(summary::scalar("loss", in(Shape{}))), "loss_1") << "letter case makes no difference";
  EXPECT_EQ(tag_of(summary::scalar("loss", in(Shape{}))), "loss_2");
  EXPECT_EQ(tag_of(summary::scalar("my loss", in(Shape{}))), "my_loss");
  const Output image = summary::image("w", in({1, 2, 2, 1}));
  EXPECT_EQ(tag_of(image), "w_2");
  const Output text = summary::text("w", in(Shape{}, DType::String));
  EXPECT_EQ(tag_of(text), "w_3");
  EXPECT_EQ(text.node().inputs()[2].name(), "w_3/serialized_summary_metadata:0");
}

TEST_F(Summary, NodesAreTensorFlows) {
  const Output image = summary::image("img", in({-1, 28, 28, 1}), 4);
  EXPECT_EQ(image.node().type(), "ImageSummary");
  EXPECT_EQ(image.node().attr<std::int64_t>("max_images"), 4);
  EXPECT_EQ(image.node().attr<Tensor>("bad_color"), Tensor::of<std::uint8_t>({255, 0, 0, 255}));
  EXPECT_EQ(summary::histogram("h", in({3})).node().type(), "HistogramSummary");
  EXPECT_EQ(summary::text("t", in(Shape{}, DType::String)).node().inputs().size(), 3U);
}

TEST_F(Summary, MergeAllTakesTheWholeCollection) {
  EXPECT_FALSE(summary::merge_all(graph).has_value());
  summary::scalar("a", in(Shape{}));
  summary::scalar("b", in(Shape{}));
  const std::optional<Output> all = summary::merge_all(graph);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->name(), "Merge/MergeSummary:0");
  EXPECT_EQ(all->node().inputs().size(), 2U);
  EXPECT_EQ(all->dtype(), DType::String);
}

TEST_F(Summary, RefusesWhatItCannotShow) {
  expect_error({"rank 0"}, [&] { summary::scalar("s", in({2})); });
  expect_error({"string"}, [&] { summary::scalar("s", in(Shape{}, DType::String)); });
  expect_error({"rank 4"}, [&] { summary::image("s", in({28, 28})); });
  expect_error({"channels"}, [&] { summary::image("s", in({1, 28, 28, 2})); });
  expect_error({"max_outputs", "0"}, [&] { summary::image("s", in({1, 28, 28, 1}), 0); });
  expect_error({"string"}, [&] { summary::merge({in(Shape{})}); });
}

}  // namespace
}  // namespace trainhook
