// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, updates of rows of variables, Adadelta and Ftrl.
#include <trainhook/compat/kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/compat/ops.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

namespace trainhook {
namespace {

/// Variables, and one step of an op that changes them.
struct Step {
  Graph graph{};
  std::vector<Variable> variables{};

  void add(const Tensor& value) { variables.push_back(make_variable("v", constant(graph, value))); }

  /// The variables after the step; `others` are the inputs of the op that are not variables.
  std::vector<Tensor> run(std::string_view type, const std::vector<Tensor>& others) {
    std::vector<Output> inputs;
    for (const Variable& variable : variables) inputs.push_back(variable.ref());
    for (const Tensor& other : others) inputs.push_back(constant(graph, other));
    const Operation step = detail::add_node(graph, *find_op_def(type), {.inputs = std::move(inputs)});
    const Operation init = variables_initializer(graph, variables);
    GraphSession session(graph, {.kernels = {kernels::sparse_training(), kernels::training(), kernels::state()}});
    session.run(init);
    session.run(step);
    std::vector<Tensor> values;
    for (const Variable& variable : variables) values.push_back(session.run(variable));
    return values;
  }
};

TEST(SparseTrainingKernels, AdagradChangesTheRowsThatAreNamed) {
  Step step;
  step.add(Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  step.add(Tensor::of<float>({0, 0, 0, 0, 3, 0}, {3, 2}));
  const std::vector<Tensor> after = step.run(
      "SparseApplyAdagrad", {Tensor(2.0F), Tensor::of<float>({1, 2, 1, 4}, {2, 2}), Tensor::of<std::int64_t>({2, 0})});
  EXPECT_EQ(after[0], Tensor::of<float>({-1, 0, 3, 4, 4, 4}, {3, 2}));
  EXPECT_EQ(after[1], Tensor::of<float>({1, 16, 0, 0, 4, 4}, {3, 2}));
}

TEST(SparseTrainingKernels, RowsThatAreNamedTwiceChangeTwice) {
  Step step;
  step.add(Tensor::of<double>({8, 8}, {2, 1}));
  step.add(Tensor::of<double>({0, 0}, {2, 1}));
  const std::vector<Tensor> after = step.run(
      "SparseApplyAdagrad", {Tensor(1.0), Tensor::of<double>({3, 4}, {2, 1}), Tensor::of<std::int32_t>({1, 1})});
  EXPECT_EQ(after[0], Tensor::of<double>({8, 8 - 1 - 0.8}, {2, 1}));
  EXPECT_EQ(after[1], Tensor::of<double>({0, 25}, {2, 1}));
}

TEST(SparseTrainingKernels, AdagradAddsEpsilonToTheRoot) {
  Step step;
  step.add(Tensor::of<double>({8, 8}, {2, 1}));
  step.add(Tensor::of<double>({0, 9}, {2, 1}));
  const Tensor gradient = Tensor::of<double>({4, 4}, {2, 1});
  std::vector<Tensor> after = step.run("ApplyAdagradV2", {Tensor(2.0), Tensor(1.0), gradient});
  EXPECT_EQ(after[0], Tensor::of<double>({8 - 8.0 / 5, 8 - 8.0 / 6}, {2, 1}));
  EXPECT_EQ(after[1], Tensor::of<double>({16, 25}, {2, 1}));
  after = step.run("SparseApplyAdagradV2", {Tensor(2.0), Tensor(1.0), gradient, Tensor::of<std::int32_t>({1, 0})});
  EXPECT_EQ(after[0], Tensor::of<double>({8 - 8.0 / 5, 8 - 8.0 / 6}, {2, 1}));
}

/// Twenty rows of one element.
Tensor column(float value) {
  Tensor result(DType::Float, {20, 1});
  std::ranges::fill(result.mutable_data<float>(), value);
  return result;
}

/// A rule with its slots and the numbers before and behind the gradient.
struct Rule {
  std::string_view type;
  std::size_t variables;
  std::vector<float> before;
  std::vector<float> behind;
};

TEST(SparseTrainingKernels, NoRuleHidesAGradientThatIsNotANumber) {
  const std::vector<Rule> rules{{"Adadelta", 3, {0.5F, 0.5F, 0.5F}, {}},
                                {"Adagrad", 2, {0.5F}, {}},
                                {"AdagradV2", 2, {0.5F, 0.5F}, {}},
                                {"Ftrl", 3, {}, {0.5F, 0.5F, 0.5F, -0.5F}},
                                {"FtrlV2", 3, {}, {0.5F, 0.5F, 0.5F, 0.5F, -0.5F}},
                                {"ProximalAdagrad", 2, {0.5F, 0.5F, 0.5F}, {}},
                                {"ProximalGradientDescent", 1, {0.5F, 0.5F, 0.5F}, {}}};
  for (const Rule& rule : rules) {
    for (const bool is_sparse : {false, true}) {
      const std::string type = fmt::format("{}Apply{}", is_sparse ? "Sparse" : "", rule.type);
      if (find_op_def(type) == nullptr) continue;
      Step step;
      for (std::size_t i = 0; i < rule.variables; ++i) step.add(column(2.0F));
      std::vector<Tensor> others(rule.before.begin(), rule.before.end());
      others.push_back(column(1.0F));
      others.back().mutable_data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
      if (is_sparse) {
        others.push_back(Tensor(DType::Int64, {20}));
        const auto rows = others.back().mutable_data<std::int64_t>();
        std::iota(rows.begin(), rows.end(), 0);
      }
      others.insert(others.end(), rule.behind.begin(), rule.behind.end());
      const Tensor after = step.run(type, others).front();
      for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(std::isnan(after.data<float>()[i]), i == 3) << type << ' ' << i;
    }
  }
}

TEST(SparseTrainingKernels, FtrlShrinksByAPartOfTheVariable) {
  for (const bool shrinks : {false, true}) {
    Step step;
    for (const double start : {1.0, 0.0, 0.0}) step.add(Tensor::of<double>({start}));
    const std::vector<Tensor> after = step.run("ApplyFtrlV2", {Tensor::of<double>({3}), Tensor(0.5), Tensor(1.0),
                                                               Tensor(0.0), Tensor(shrinks ? 4.0 : 0.0), Tensor(-0.5)});
    const double linear = 3 + (shrinks ? 8 : 0) - 6;
    EXPECT_EQ(after[1], Tensor::of<double>({9}));
    EXPECT_EQ(after[2], Tensor::of<double>({linear}));
    EXPECT_EQ(after[0], Tensor::of<double>({((linear > 0 ? 1 : -1) - linear) / 6}));
  }
}

TEST(SparseTrainingKernels, FtrlSetsWhatIsBelowTheLimitToZero) {
  Step step;
  for (const double start : {1.0, 0.0, 0.0}) step.add(Tensor::of<double>({start, start}));
  const std::vector<Tensor> after =
      step.run("ApplyFtrl", {Tensor::of<double>({3, 0.25}), Tensor(0.5), Tensor(1.0), Tensor(0.0), Tensor(-0.5)});
  EXPECT_EQ(after[1], Tensor::of<double>({9, 0.0625}));
  EXPECT_EQ(after[2], Tensor::of<double>({3 - 6, 0.25 - 0.5}));
  EXPECT_EQ(after[0], Tensor::of<double>({(3.0 - 1) / 6, 0}));
}

TEST(SparseTrainingKernels, FtrlFollowsItsFormulaForAnyPowerAndManyElements) {
  for (const float power : {-0.5F, -0.75F}) {
    constexpr std::size_t kCount = 301;  // more than a piece, and not as many as fill vectors
    std::vector<Tensor> before(4, Tensor(DType::Float, {kCount}));
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto number = static_cast<float>(i);
      before[0].mutable_data<float>()[i] = number / 100 - 1.5F;
      before[1].mutable_data<float>()[i] = 0.1F + number / 50;
      before[2].mutable_data<float>()[i] = 2 - number / 70;
      before[3].mutable_data<float>()[i] = static_cast<float>(i % 7) - 3;
    }
    Step step;
    for (std::size_t i = 0; i < 3; ++i) step.add(before[i]);
    const std::vector<Tensor> after =
        step.run("ApplyFtrl", {before[3], Tensor(0.5F), Tensor(0.75F), Tensor(0.25F), Tensor(power)});
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto at = [&](const Tensor& tensor) { return double{tensor.data<float>()[i]}; };
      const double sum = at(before[1]) + at(before[3]) * at(before[3]);
      const double root = std::pow(sum, -power) / 0.5;
      const double linear =
          at(before[2]) + at(before[3]) - (root - std::pow(at(before[1]), -power) / 0.5) * at(before[0]);
      const double shrunk = std::abs(linear) > 0.75 ? (std::copysign(0.75, linear) - linear) / (root + 0.5) : 0;
      EXPECT_NEAR(at(after[1]), sum, 1e-5) << i;
      EXPECT_NEAR(at(after[2]), linear, 1e-5) << i;
      EXPECT_NEAR(at(after[0]), shrunk, 1e-5) << i;
    }
  }
}

TEST(SparseTrainingKernels, RefuseRowsThatDoNotExist) {
  const auto run = [](std::int32_t row, const Tensor& gradient) {
    Step step;
    for (int i = 0; i < 2; ++i) step.add(Tensor::of<float>({1, 2}, {2, 1}));
    step.run("SparseApplyAdagrad", {Tensor(1.0F), gradient, Tensor::of<std::int32_t>({row})});
  };
  EXPECT_NO_THROW(run(1, Tensor::of<float>({1}, {1, 1})));
  EXPECT_THROW(run(2, Tensor::of<float>({1}, {1, 1})), InvalidArgumentError);
  EXPECT_THROW(run(1, Tensor::of<float>({1, 2}, {1, 2})), InvalidArgumentError);
}

TEST(SparseTrainingKernels, MomentumOfARowLooksAheadIfNesterovSaysSo) {
  Step step;
  step.add(Tensor::of<float>({1, 2}, {2, 1}));
  step.add(Tensor::of<float>({4, 8}, {2, 1}));
  const std::vector<Tensor> numbers{Tensor(0.5F), Tensor::of<float>({2}, {1, 1}), Tensor::of<std::int32_t>({1}),
                                    Tensor(0.25F)};
  const std::vector<Tensor> after = step.run("SparseApplyMomentum", numbers);
  EXPECT_EQ(after[0], Tensor::of<float>({1, 0}, {2, 1}));
  EXPECT_EQ(after[1], Tensor::of<float>({4, 4}, {2, 1}));
}

TEST(SparseTrainingKernels, RMSPropDividesByTheMeanSquare) {
  Step step;
  step.add(Tensor::of<double>({1, 2}, {2, 1}));
  step.add(Tensor::of<double>({4, 8}, {2, 1}));
  step.add(Tensor::of<double>({0, 2}, {2, 1}));
  const std::vector<Tensor> after =
      step.run("SparseApplyRMSProp", {Tensor(3.0), Tensor(0.5), Tensor(0.25), Tensor(3.0),
                                      Tensor::of<double>({4}, {1, 1}), Tensor::of<std::int32_t>({1})});
  EXPECT_EQ(after[1], Tensor::of<double>({4, 12}, {2, 1}));
  EXPECT_DOUBLE_EQ(after[2].data<double>()[1], 0.5 + 12 / std::sqrt(15.0));
  EXPECT_DOUBLE_EQ(after[0].data<double>()[1], 2 - (0.5 + 12 / std::sqrt(15.0)));
}

TEST(SparseTrainingKernels, ProximalStepsShrinkNumbersToZero) {
  Step descent;
  descent.add(Tensor::of<float>({3, -3, 1}));
  EXPECT_EQ(descent.run("ApplyProximalGradientDescent",
                        {Tensor(0.5F), Tensor(1.0F), Tensor(2.0F), Tensor::of<float>({1, -1, 1})})[0],
            Tensor::of<float>({1, -1, 0}));
  Step adagrad;
  adagrad.add(Tensor::of<float>({3, 4}));
  adagrad.add(Tensor::of<float>({0, 7}));
  const std::vector<Tensor> after =
      adagrad.run("ApplyProximalAdagrad", {Tensor(1.0F), Tensor(0.0F), Tensor(1.0F), Tensor::of<float>({1, 3})});
  EXPECT_EQ(after[1], Tensor::of<float>({1, 16}));
  EXPECT_EQ(after[0], Tensor::of<float>({1, 2.6F}));
}

}  // namespace
}  // namespace trainhook
