// SPDX-License-Identifier: Apache-2.0
/// @file
/// EvaluationHook: what it measures of a graph, on feeds and on data.
#include <trainhook/hooks/evaluation_hook.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

/// A model whose only weight is its step, and data that are 1 to 5.
class EvaluationHookOnAGraph : public ::testing::Test {
 protected:
  EvaluationHookOnAGraph() {
    const Output product = multiply(input_, cast(step_, DType::Float));
    mean_ = reduce_mean(product).named("figure");
    product_ = product.named("product");
  }
  /// What is measured at the end of so many steps.
  Metrics measured(EvaluationHook made, std::int64_t steps) {
    const auto hook = std::make_shared<EvaluationHook>(std::move(made));
    testing::MemoryFileSystem disk;
    const Operation train = assign_add(step_, constant(graph_, Tensor(std::int64_t{1}))).operation();
    auto session = monitored_training_session<EigenSession>(
        graph_, {.hooks = {StopAtStepHook({.last_step = steps}), hook}, .file_system = &disk});
    run_until_stop(session, train);
    return hook->metrics();
  }
  static Dataset numbers() { return Dataset::from_tensor_slices({Tensor::of<float>({1, 2, 3, 4, 5})}); }

  testing::LogLines log_;
  Graph graph_;
  Variable step_ = get_or_create_global_step(graph_);
  Output input_ = placeholder(graph_, DType::Float, PartialShape{kUnknownDim}, "input");
  Output mean_, product_;
};

TEST_F(EvaluationHookOnAGraph, MeasuresOnFeeds) {
  const Metrics metrics = measured({{mean_}, FeedDict{{input_, Tensor::of<float>({2, 4})}}, {}}, 3);
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_EQ(metrics[0].name, "figure");
  EXPECT_EQ(metrics[0].value, 9);
}

TEST_F(EvaluationHookOnAGraph, AveragesOverADatasetByTheSizeOfItsBatches) {
  const Metrics metrics = measured({{{"average", mean_}}, numbers().batch(2), {input_}, {}}, 2);
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_EQ(metrics[0].name, "average");
  EXPECT_EQ(metrics[0].value, 6);
}

TEST_F(EvaluationHookOnAGraph, AMetricThatIsNamedAfterASummarySharesItsChart) {
  const Output chart = summary::scalar("figure", mean_);
  const Metrics metrics =
      measured({{{chart.operation().name(), mean_}}, FeedDict{{input_, Tensor::of<float>({2, 4})}}, {}}, 1);
  EXPECT_EQ(metrics.at(0).name, "figure_1") << "the summary's tag";
}

TEST_F(EvaluationHookOnAGraph, RefusesWhatIsNotAFigure) {
  EXPECT_THROW(measured({{product_}, numbers().batch(2), {input_}, {}}, 2), InvalidArgumentError);
}

TEST_F(EvaluationHookOnAGraph, RefusesDataWithoutElements) {
  EXPECT_THROW(measured({{mean_}, numbers().take(0).batch(2), {input_}, {}}, 2), InvalidArgumentError);
}

TEST(EvaluationHook, LeavesTheRandomOpsOfAGraphWhereTheyStood) {
  const testing::LogLines quiet;
  const auto trained = [](const std::vector<std::int64_t>& periods) {
    Graph graph;
    const Variable step = get_or_create_global_step(graph);
    const Output noise = random_uniform(graph, {}, {.seed = 17}).named("noise");
    const Variable weight = get_variable(graph, "weight", {}, {.initializer = zeros_initializer()});
    const Operation train = group(graph, {assign_add(weight, noise).operation(),
                                          assign_add(step, constant(graph, Tensor(std::int64_t{1}))).operation()});
    testing::MemoryFileSystem disk;
    HookList hooks = {StopAtStepHook({.last_step = 6})};
    for (const std::int64_t period : periods)
      hooks.emplace_back(EvaluationHook({noise}, FeedDict{}, {.every_n_steps = period}));
    auto session = monitored_training_session<EigenSession>(graph, {.hooks = hooks, .file_system = &disk});
    float last = 0;
    while (!session.should_stop()) {
      session.run(train);
      last = SessionRef(session).snapshot(std::vector<std::string>{"weight"}).at(0).tensor.scalar<float>();
    }
    return last;
  };
  EXPECT_EQ(trained({2}), trained({}));
}

}  // namespace
}  // namespace trainhook
