// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::DistributedOptimizer: ranks that train together do what one process does with the global batch.
#include <trainhook/mpi/distributed_optimizer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/optimizers.hpp>
#include <trainhook/session/run_args.hpp>

#include "world.hpp"

namespace trainhook::mpi {
namespace {

using trainhook::testing::world;

constexpr std::int64_t kGlobalBatch = 24;  // for 1, 2, 3, 4, 6 and 8 ranks
constexpr std::int64_t kFeatures = 5;

/// A network of two layers that learns the sines of sums.
struct Model {
  explicit Model(DType dtype) {
    graph.set_random_seed(3);
    x = placeholder(graph, dtype, {kUnknownDim, kFeatures}, "x");
    y = placeholder(graph, dtype, {kUnknownDim, 1}, "y");
    const auto layer = [&](Output in, const char* name, std::int64_t from, std::int64_t to) {
      const Graph::Scope scope = graph.name_scope(name);
      const Variable kernel = get_variable(graph, "kernel", {from, to}, {.dtype = dtype});
      const Variable bias = get_variable(graph, "bias", {to}, {.dtype = dtype, .initializer = zeros_initializer()});
      return add(matmul(in, kernel), bias);
    };
    loss = reduce_mean(square(subtract(layer(tanh(layer(x, "hidden", kFeatures, 16)), "out", 16, 1), y)));
  }

  Graph graph;
  Output x{}, y{}, loss{};
};

/// The rows of a global batch that a rank of so many has.
template <class T>
std::pair<Tensor, Tensor> rows_of(std::int64_t step, int rank, int size) {
  std::mt19937_64 random(static_cast<std::uint64_t>(step));
  std::vector<T> xs;
  std::vector<T> ys;
  for (std::int64_t row = 0; row < kGlobalBatch; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < kFeatures; ++i) {
      xs.push_back(static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(random)));
      sum += static_cast<double>(xs.back());
    }
    ys.push_back(static_cast<T>(std::sin(sum)));
  }
  const std::int64_t count = kGlobalBatch / size;
  const auto part = [&](const std::vector<T>& all, std::int64_t width) {
    const auto length = static_cast<std::size_t>(count * width);
    return Tensor::copy_of(std::span(all).subspan(static_cast<std::size_t>(rank) * length, length), {count, width});
  };
  return {part(xs, kFeatures), part(ys, 1)};
}

/// The values of all variables after some steps.
template <class T>
std::vector<T> trained(Model& model, Operation train, int rank, int size, int steps) {
  EigenSession session(model.graph);
  session.run(global_variables_initializer(model.graph));
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto [x, y] = rows_of<T>(step, rank, size);
    session.run(train, {{model.x, x}, {model.y, y}});
  }
  std::vector<T> values;
  for (const Variable& variable : trainable_variables(model.graph)) {
    const Tensor value = session.run(variable);
    values.insert(values.end(), value.data<T>().begin(), value.data<T>().end());
  }
  return values;
}

template <class T>
std::vector<T> trained_together(int steps, const DistributedOptimizerOptions& options = {}) {
  Model model(dtype_of<T>);
  DistributedOptimizer optimizer(MomentumOptimizer({.learning_rate = 0.05, .momentum = 0.9}), world(), options);
  return trained<T>(model, optimizer.minimize(model.loss), world().rank(), world().size(), steps);
}

template <class T>
std::vector<T> trained_alone(int steps) {
  Model model(dtype_of<T>);
  MomentumOptimizer optimizer({.learning_rate = 0.05, .momentum = 0.9});
  return trained<T>(model, optimizer.minimize(model.loss), 0, 1, steps);
}

template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<T>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = (std::max)(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

TEST(DistributedOptimizer, TrainsAsOneProcessWithTheGlobalBatch) {
  EXPECT_LT(largest_difference(trained_together<float>(200), trained_alone<float>(200)), 1e-5);
  EXPECT_LT(largest_difference(trained_together<double>(200), trained_alone<double>(200)), 1e-12);
}

TEST(DistributedOptimizer, GivesTheSameBitsOnEveryRankAndEveryTime) {
  const std::vector<float> values = trained_together<float>(20);
  EXPECT_EQ(trained_together<float>(20), values);
  std::vector<float> of_first = values;
  MPI_Bcast(of_first.data(), static_cast<int>(of_first.size()), MPI_FLOAT, 0, world().native());
  EXPECT_EQ(values, of_first);
}

TEST(DistributedOptimizer, FillsBucketsInTheOrderOfTheBackwardPass) {
  const auto buckets = [](std::size_t bytes) {
    Model model(DType::Float);
    DistributedOptimizer optimizer(AdamOptimizer({.learning_rate = 0.01}), world(), {.bucket_bytes = bytes});
    optimizer.minimize(model.loss);
    std::vector<std::size_t> sizes;
    for (const Node& node : model.graph.nodes()) {
      if (node.type() != "TrainhookAllReduceStart") continue;
      sizes.push_back(node.inputs().size());
      EXPECT_EQ(node.control_inputs().size(), sizes.size() == 1 ? 0U : 1U) << node.name();
    }
    return sizes;
  };
  EXPECT_EQ(buckets(std::size_t{16} << 20U), (std::vector<std::size_t>{4}));
  EXPECT_EQ(buckets(0), (std::vector<std::size_t>{1, 1, 1, 1}));
  EXPECT_EQ(buckets(68), (std::vector<std::size_t>{2, 2}));  // 4 and 64 bytes, then 64 and 320
}

/// The order in which nodes of a training step run, and that of some of them.
class Trace {
 public:
  Trace(Model& model, Operation train) {
    EigenSession session(model.graph);
    session.run(global_variables_initializer(model.graph));
    const auto [x, y] = rows_of<float>(0, world().rank(), world().size());
    const RunOptions options{.trace_level = TraceLevel::Software};
    RunMetadata metadata;
    session.run(train, {{model.x, x}, {model.y, y}}, &options, &metadata);
    for (const NodeStats& node : metadata.node_stats) {
      order_.push_back(node.node_name);
      types_.push_back(node.op_type);
    }
  }
  [[nodiscard]] std::ptrdiff_t place_of(const Node& node) const {
    return std::ranges::find(order_, node.name()) - order_.begin();
  }
  [[nodiscard]] std::vector<std::ptrdiff_t> places_of(const std::string& type) const {
    std::vector<std::ptrdiff_t> places;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      if (types_[i] == type) places.push_back(static_cast<std::ptrdiff_t>(i));
    }
    return places;
  }

 private:
  std::vector<std::string> order_;
  std::vector<std::string> types_;
};

TEST(DistributedOptimizer, StartsABucketBeforeLaterGradientsAreComputedAndFinishesItAfterAllOfThem) {
  Model model(DType::Float);
  DistributedOptimizer optimizer(GradientDescentOptimizer({.learning_rate = 0.1}), world(), {.bucket_bytes = 0});
  const Operation train = optimizer.minimize(model.loss);
  const Trace trace(model, train);
  std::vector<std::ptrdiff_t> gradients;  // in the order of the buckets
  for (const Node& node : model.graph.nodes()) {
    if (node.type() == "TrainhookAllReduceStart") gradients.push_back(trace.place_of(node.inputs()[0].node()));
  }
  const std::vector<std::ptrdiff_t> starts = trace.places_of("TrainhookAllReduceStart");
  const std::vector<std::ptrdiff_t> finishes = trace.places_of("TrainhookAllReduceFinish");
  ASSERT_EQ(gradients.size(), 4U);
  ASSERT_EQ(starts.size(), 4U);
  ASSERT_EQ(finishes.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(starts[i], gradients[i] + 1) << "as soon as the gradient is there";
    EXPECT_GT(finishes[i], starts[3]) << "after the whole backward pass";
  }
  EXPECT_LT(starts[0], gradients[3]);
}

/// As trained_together, with a reduction of all gradients at once after the backward pass, which waits.
std::vector<float> trained_with_one_blocking_reduction(int steps) {
  Model model(DType::Float);
  MomentumOptimizer optimizer({.learning_rate = 0.05, .momentum = 0.9});
  std::vector<GradientAndVariable> pairs = optimizer.compute_gradients(model.loss);
  std::ranges::sort(pairs, {}, [](const GradientAndVariable& pair) { return pair.gradient.node().id(); });
  std::vector<Output> gradients;
  for (const GradientAndVariable& pair : pairs) gradients.push_back(pair.gradient);
  gradients = trainhook::all_reduce(gradients, Reduction::Mean, reducer(world()));
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].gradient = gradients[i];
  return trained<float>(model, optimizer.apply_gradients(pairs), world().rank(), world().size(), steps);
}

TEST(DistributedOptimizer, GivesTheBitsOfReductionsThatWait) {
  EXPECT_EQ(trained_together<float>(20), trained_with_one_blocking_reduction(20));
}

/// A model whose backward pass fails at the first layer, after the gradients of the second one are on their way, if
/// `row` is not 0.
struct FailingModel : Model {
  FailingModel() : Model(DType::Float) {
    row = placeholder(graph, DType::Int32, {}, "row");
    options.registry.replace("Tanh", [this](const GradientContext& c) -> std::vector<Output> {
      const Output one = gather(constant(graph, Tensor::of<float>({1})), row);
      return {multiply(one, multiply(c.grad(), subtract(1.0F, square(c.output()))))};
    });
    train = DistributedOptimizer(GradientDescentOptimizer({.learning_rate = 0.1}), world(), {.bucket_bytes = 0})
                .minimize(loss, std::nullopt, {}, options);
  }
  void step(EigenSession& session, std::int32_t from_row) {
    const auto [inputs, labels] = rows_of<float>(0, world().rank(), world().size());
    session.run(train, {{x, inputs}, {y, labels}, {row, Tensor(from_row)}});
  }

  Output row{};
  GradientOptions options{};
  Operation train{};
};

std::vector<std::int64_t> sum_of_ones() {
  std::vector<std::int64_t> ones(100, 1);
  all_reduce(ones, Reduction::Sum, world());
  return ones;
}

TEST(DistributedOptimizer, ARunThatFailsBetweenStartAndEndLeavesOtherMessagesInStep) {
  const std::vector<std::int64_t> all(100, world().size());
  for (int again = 0; again < 2; ++again) {
    FailingModel model;
    EigenSession session(model.graph);
    session.run(global_variables_initializer(model.graph));
    model.step(session, 0);
    if (world().rank() != 0) {  // rank 0 starts nothing
      EXPECT_THROW(model.step(session, 1), InvalidArgumentError);
    }
    EXPECT_EQ(sum_of_ones(), all);
  }
  EXPECT_EQ(sum_of_ones(), all);
}

TEST(DistributedOptimizer, AfterARunThatFailedBetweenStartAndEndOnlyASingleRankContinues) {
  FailingModel model;
  EigenSession session(model.graph);
  session.run(global_variables_initializer(model.graph));
  EXPECT_THROW(model.step(session, 1), InvalidArgumentError);
  if (world().size() == 1) {
    model.step(session, 0);
    return;
  }
  const std::string expected =
      "rank " + std::to_string(world().rank()) + ": a run failed between the start and the end";
  for (int again = 0; again < 2; ++again) {
    try {
      model.step(session, 0);
      ADD_FAILURE() << "no error";
    } catch (const FailedPreconditionError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
}

TEST(DistributedOptimizer, SplitsNothingByTheSizeOfBuckets) {
  EXPECT_LT(largest_difference(trained_together<float>(20, {.bucket_bytes = 0}), trained_together<float>(20)), 1e-6);
}

TEST(DistributedOptimizer, CallsItsVariablesAsTheOptimizerDoes) {
  const auto names = [](bool together) {
    Model model(DType::Float);
    if (together) {
      DistributedOptimizer(AdamOptimizer({.learning_rate = 0.01}), world()).minimize(model.loss);
    } else {
      AdamOptimizer({.learning_rate = 0.01}).minimize(model.loss);
    }
    std::vector<std::string> result;
    for (const Variable& variable : global_variables(model.graph)) result.push_back(variable.name());
    return result;
  };
  EXPECT_EQ(names(true), names(false));
}

TEST(DistributedOptimizer, AddsUpIfAsked) {
  Graph graph;
  const Variable w = get_variable(graph, "w", {}, {.initializer = zeros_initializer()});
  DistributedOptimizer optimizer(GradientDescentOptimizer({.learning_rate = 1.0}), world(),
                                 {.reduction = Reduction::Sum});
  const Operation train = optimizer.minimize(multiply(w, -1.0F));
  EigenSession session(graph);
  session.run(global_variables_initializer(graph));
  session.run(train);
  EXPECT_EQ(session.run(w), Tensor(static_cast<float>(world().size())));
}

}  // namespace
}  // namespace trainhook::mpi
