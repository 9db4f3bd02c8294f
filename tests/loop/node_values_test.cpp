// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values of nodes: constants, functions, summaries, feeds.
#include <trainhook/loop/node_values.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/events/summary.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/summary.hpp>

namespace trainhook {
namespace {

class NodeValuesTest : public ::testing::Test {
 protected:
  Output leaf(const std::string& name, std::function<Tensor()> read) {
    const Tensor now = read();
    const Output output = placeholder(graph, now.dtype(), now.shape(), name);
    values.set_leaf(output.node(), std::move(read));
    return output;
  }
  Tensor run(const Output& output, std::vector<Feed> feeds = {}) {
    values.begin_run(feeds);
    const Tensor value = values.get(output);
    values.end_run();
    return value;
  }
  std::string bytes(const Output& output) { return run(output).data<std::string>()[0]; }

  Graph graph;
  detail::NodeValues values{graph};
};

TEST_F(NodeValuesTest, WritesScalarSummaries) {
  const Output whole = leaf("whole", [] { return Tensor(std::int64_t{3}); });
  EXPECT_EQ(bytes(summary::scalar("count", whole)), scalar_summary("count", 3.0F));
  const Output real = leaf("real", [] { return Tensor(0.25); });
  EXPECT_EQ(bytes(summary::scalar("loss", real)), scalar_summary("loss", 0.25F));
}

TEST_F(NodeValuesTest, WritesHistogramSummaries) {
  const Output weights = leaf("weights", [] { return Tensor::of<float>({1, 2, 2}); });
  const std::vector<float> same{1, 2, 2};
  EXPECT_EQ(bytes(summary::histogram("w", weights)), histogram_summary("w", std::span<const float>(same)));
}

TEST_F(NodeValuesTest, SummariesTakeEveryNumberOfCpp) {
  const std::vector<Tensor> twos{Tensor(std::size_t{2}), Tensor(std::uint8_t{2}), Tensor(std::int8_t{2}),
                                 Tensor(Half{0x4000}), Tensor(BFloat16{0x4000})};
  for (const Tensor& two : twos) {
    const Output value = leaf(graph.unique_name("two"), [&] { return two; });
    const Output scalar = summary::scalar("s", value);
    const std::string tag(scalar.operation().name());
    EXPECT_EQ(bytes(scalar), scalar_summary(tag, 2)) << two.to_string();
    const Output counted = summary::histogram("h", value);
    EXPECT_EQ(bytes(counted), histogram_summary(std::string(counted.operation().name()), histogram_of("h", two)))
        << two.to_string();
  }
}

TEST_F(NodeValuesTest, ABoolIsSummarisedAsANumberThatTensorFlowTakes) {
  const Output done = leaf("done", [] { return Tensor(true); });
  const Output scalar = summary::scalar("s", done);
  EXPECT_EQ(bytes(scalar), scalar_summary("s", 1));
  EXPECT_EQ(scalar.node().attr<DType>("T"), DType::Float);
  const std::vector<float> numbers{1, 0};
  const Output flags = leaf("flags", [] { return Tensor::of<bool>({true, false}); });
  EXPECT_EQ(bytes(summary::histogram("h", flags)), histogram_summary("h", std::span<const float>(numbers)));
}

TEST_F(NodeValuesTest, WritesTextSummaries) {
  const Output note = leaf("note", [] { return Tensor("*hello*"); });
  EXPECT_EQ(bytes(summary::text("t", note)), text_summary("t", "*hello*"));
}

TEST_F(NodeValuesTest, MergesSummaries) {
  const Output loss = leaf("loss", [] { return Tensor(1.0F); });
  summary::scalar("a", loss);
  summary::scalar("b", loss);
  EXPECT_EQ(bytes(*summary::merge_all(graph)), scalar_summary("a", 1) + scalar_summary("b", 1));
}

TEST_F(NodeValuesTest, ComputesAnOpThatSaysHowWithoutAnEngine) {
  static constexpr OpDef kTwice{
      .type = "Twice", .signature = "float32 -> float32", .on_host = [](const Node&, std::span<const Tensor> inputs) {
        return Tensor(2 * inputs[0].scalar<float>());
      }};
  const Output once = leaf("once", [] { return Tensor(3.0F); });
  const Output twice = graph.add(kTwice, {.name = "twice", .inputs = {once}}).output();
  EXPECT_EQ(run(graph.add(kTwice, {.name = "four_times", .inputs = {twice}}).output()), Tensor(12.0F));
}

TEST_F(NodeValuesTest, NamesTheSummaryThatHasNoBucketForNan) {
  const Output weights = leaf("weights", [] {
    return Tensor::of<float>({1, std::numeric_limits<float>::quiet_NaN()});
  });
  const Output histogram = summary::histogram("w", weights);
  try {
    (void)run(histogram);
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("Nan in summary histogram for: w"), std::string::npos);
  }
}

TEST_F(NodeValuesTest, ReadsALeafOnceARunAndAgainInTheNext) {
  int reads = 0;
  const Output loss = leaf("loss", [&] { return Tensor(static_cast<float>(reads++)); });
  const Output merged = summary::merge({summary::scalar("a", loss), summary::scalar("b", loss)});
  reads = 5;
  EXPECT_EQ(bytes(merged), scalar_summary("a", 5) + scalar_summary("b", 5));
  EXPECT_EQ(bytes(merged), scalar_summary("a", 6) + scalar_summary("b", 6));
}

TEST_F(NodeValuesTest, HoldsNoValueAfterARun) {
  const Output weights = leaf("weights", [] { return Tensor::of<float>({1, 2}); });
  const Tensor value = run(weights);
  EXPECT_TRUE(value.is_unique());
}

TEST_F(NodeValuesTest, PassesFeedsOnToTheValuesComputedFromThem) {
  const Output loss = leaf("loss", [] { return Tensor(1.0F); });
  const Output chart = summary::scalar("loss_chart", loss);
  EXPECT_EQ(run(chart, {{loss, 7.0F}}), Tensor(scalar_summary("loss_chart", 7)));
  EXPECT_EQ(run(chart), Tensor(scalar_summary("loss_chart", 1)));
}

TEST_F(NodeValuesTest, WantsAFeedForAPlaceholderWithoutSource) {
  const Output rate = placeholder(graph, DType::Float, Shape{}, "rate");
  EXPECT_EQ(run(rate, {{rate, 2.0F}}), Tensor(2.0F));
  EXPECT_THROW((void)run(rate), InvalidArgumentError);
}

TEST_F(NodeValuesTest, StaysUsableWhenALeafThrows) {
  bool fails = false;
  const Output loss = leaf("loss", [&]() -> Tensor {
    if (fails) throw AbortedError("lost");
    return Tensor(1.0F);
  });
  fails = true;
  values.begin_run({});
  EXPECT_THROW((void)values.get(loss), AbortedError);
  values.end_run();
  fails = false;
  EXPECT_EQ(run(loss), Tensor(1.0F));
}

}  // namespace
}  // namespace trainhook
