// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, optimizers.
#include <trainhook/engine/kernels.hpp>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

namespace trainhook {
namespace {

/// Applies an optimizer op for two steps to variables that begin as given; the rest of the inputs are constants.
std::vector<Tensor> apply(const std::string& type, const std::vector<Tensor>& variables,
                          const std::vector<Tensor>& numbers, Attrs attrs = {}) {
  Graph graph;
  NodeSpec spec{.type = type, .name = "update", .attrs = std::move(attrs)};
  std::vector<Variable> made;
  for (const Tensor& value : variables) {
    made.push_back(make_variable("v", constant(graph, value)));
    spec.inputs.push_back(made.back().ref());
  }
  for (const Tensor& number : numbers) spec.inputs.push_back(constant(graph, number));
  spec.attrs.emplace("T", variables[0].dtype());
  spec.outputs = {{variables[0].dtype(), variables[0].shape()}};
  const Operation update = graph.add(std::move(spec));
  GraphSession session(graph, {.kernels = {kernels::training(), kernels::state()}});
  for (const Variable& variable : made) session.run(variable.initializer);
  session.run(update);
  session.run(update);
  std::vector<Tensor> results;
  for (const Variable& variable : made) results.push_back(session.run(variable));
  return results;
}

constexpr std::size_t kMany = 3000;  // more than one piece

Tensor many(double value) {
  Tensor tensor(DType::Double, Shape{static_cast<std::int64_t>(kMany)});
  for (double& element : tensor.overwrite_data<double>()) element = value;
  return tensor;
}

void expect_all(const Tensor& tensor, double expected) {
  for (const double value : tensor.data<double>()) ASSERT_NEAR(value, expected, 1e-14);
}

TEST(TrainingKernels, DescendTheGradient) {
  expect_all(apply("ApplyGradientDescent", {many(1)}, {Tensor(0.5), many(0.2)})[0], 0.8);
}

TEST(TrainingKernels, GatherMomentum) {
  const std::vector<Tensor> plain =
      apply("ApplyMomentum", {many(1), many(0)}, {Tensor(0.1), many(2), Tensor(0.9)}, {{"use_nesterov", false}});
  expect_all(plain[1], 3.8);
  expect_all(plain[0], 1 - 0.1 * 2 - 0.1 * 3.8);
  const std::vector<Tensor> nesterov =
      apply("ApplyMomentum", {many(1), many(0)}, {Tensor(0.1), many(2), Tensor(0.9)}, {{"use_nesterov", true}});
  expect_all(nesterov[0], 1 - (0.1 * 2 + 0.1 * 0.9 * 2) - (0.1 * 2 + 0.1 * 0.9 * 3.8));
}

TEST(TrainingKernels, FollowAdam) {
  const auto adam = [](bool nesterov) {
    return apply("ApplyAdam", {many(1), many(0), many(0)},
                 {Tensor(0.9), Tensor(0.999), Tensor(0.01), Tensor(0.9), Tensor(0.999), Tensor(1e-8), many(3)},
                 {{"use_nesterov", nesterov}});
  };
  const double rate = 0.01 * std::sqrt(1 - 0.999) / (1 - 0.9);
  double m = 0, v = 0, plain = 1, nesterov = 1;
  for (int step = 0; step < 2; ++step) {
    m += (3 - m) * (1 - 0.9);
    v += (9 - v) * (1 - 0.999);
    plain -= m * rate / (std::sqrt(v) + 1e-8);
    nesterov -= (3 * (1 - 0.9) + 0.9 * m) * rate / (std::sqrt(v) + 1e-8);
  }
  expect_all(adam(false)[0], plain);
  expect_all(adam(false)[1], m);
  expect_all(adam(false)[2], v);
  expect_all(adam(true)[0], nesterov);
}

/// Numbers of all sizes, of both signs if `low` is negative.
std::vector<float> spread(float low, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(2'051);  // pieces, vectors, and single elements behind them
  for (float& value : values) {
    const float size =
        std::ldexp(1 + static_cast<float>(random() % 9'973) / 9'973, static_cast<int>(random() % 24) - 20);
    value = low < 0 && random() % 2 == 0 ? -size : size;
  }
  return values;
}

TEST(TrainingKernels, AdamRoundsEachOperationOnce) {  // then its bits are TensorFlow's
#if defined(__FMA__)
  GTEST_SKIP() << "the compiler may fuse what is expected";
#endif
  std::vector<float> var = spread(-1, 1), m = spread(-1, 2), v = spread(0, 3);
  const std::vector<float> g = spread(-1, 4);
  const auto tensor = [](const std::vector<float>& values) { return Tensor::copy_of<float>(values, {2'051}); };
  const float beta1_power = 0.81F, beta2_power = 0.998F, rate = 0.02F, beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;
  const std::vector<Tensor> found = apply("ApplyAdam", {tensor(var), tensor(m), tensor(v)},
                                          {Tensor(beta1_power), Tensor(beta2_power), Tensor(rate), Tensor(beta1),
                                           Tensor(beta2), Tensor(epsilon), tensor(g)},
                                          {{"use_nesterov", false}});
  const float factor = rate * std::sqrt(1 - beta2_power) / (1 - beta1_power);
  for (int step = 0; step < 2; ++step) {
    for (std::size_t i = 0; i < g.size(); ++i) {
      m[i] += (g[i] - m[i]) * (1 - beta1);
      v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
      var[i] -= (m[i] * factor) / (std::sqrt(v[i]) + epsilon);
    }
  }
  EXPECT_EQ(found[1], tensor(m));
  EXPECT_EQ(found[2], tensor(v));
  EXPECT_EQ(found[0], tensor(var));
}

TEST(TrainingKernels, FollowAdagrad) {
  const std::vector<Tensor> results =
      apply("ApplyAdagrad", {many(1), many(0.1)}, {Tensor(0.5), many(2)}, {{"update_slots", true}});
  expect_all(results[1], 8.1);
  expect_all(results[0], 1 - 1 / std::sqrt(4.1) - 1 / std::sqrt(8.1));
}

TEST(TrainingKernels, FollowRMSProp) {
  const std::vector<Tensor> results = apply("ApplyRMSProp", {many(1), many(0), many(0)},
                                            {Tensor(0.1), Tensor(0.9), Tensor(0.5), Tensor(1e-10), many(2)});
  double ms = 0, mom = 0, var = 1;
  for (int step = 0; step < 2; ++step) {
    ms += (4 - ms) * (1 - 0.9);
    mom = mom * 0.5 + 0.1 * 2 / std::sqrt(ms + 1e-10);
    var -= mom;
  }
  expect_all(results[0], var);
}

TEST(TrainingKernels, FollowCenteredRMSProp) {
  const std::vector<Tensor> results = apply("ApplyCenteredRMSProp", {many(1), many(0), many(1), many(0)},
                                            {Tensor(0.1), Tensor(0.9), Tensor(0.5), Tensor(1e-10), many(2)});
  double mg = 0, ms = 1, mom = 0, var = 1;
  for (int step = 0; step < 2; ++step) {
    ms += (4 - ms) * (1 - 0.9);
    mg += (2 - mg) * (1 - 0.9);
    mom = mom * 0.5 + 0.1 * 2 / std::sqrt(ms - mg * mg + 1e-10);
    var -= mom;
  }
  expect_all(results[0], var);
  expect_all(results[1], mg);
  expect_all(results[2], ms);
  expect_all(results[3], mom);
}

TEST(TrainingKernels, RefuseAGradientOfAnotherShape) {
  EXPECT_THROW(apply("ApplyGradientDescent", {many(1)}, {Tensor(0.5), Tensor::of<double>({1})}), InvalidArgumentError);
  EXPECT_THROW(apply("ApplyMomentum", {many(1), Tensor::of<double>({1})}, {Tensor(0.5), many(1), Tensor(0.9)},
                     {{"use_nesterov", false}}),
               InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
