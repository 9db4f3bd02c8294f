// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of training a small classifier with all kernels.
#include <trainhook/engine/eigen_session.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <allocations.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/compat/ops.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/layers.hpp>
#include <trainhook/model/moving_averages.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/ops/nn.hpp>
#include <trainhook/model/ops/slice.hpp>
#include <trainhook/model/optimizers.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {
namespace {

static_assert(SessionLike<EigenSession>);

constexpr std::int64_t kBatch = 16;
constexpr std::int64_t kFeatures = 20;

Tensor features() {
  Tensor x(DType::Float, Shape{kBatch, kFeatures});
  float value = 0.1F;
  for (float& element : x.overwrite_data<float>()) element = value = value > 1 ? value - 0.97F : value + 0.13F;
  return x;
}
Tensor labels() {
  Tensor y(DType::Int64, Shape{kBatch});
  std::int64_t i = 0;
  for (std::int64_t& element : y.overwrite_data<std::int64_t>()) element = i++ % 3;
  return y;
}

class Classifier {
 public:
  Classifier() {
    graph.set_random_seed(11);
    x = placeholder(graph, DType::Float, {kUnknownDim, kFeatures}, "x");
    y = placeholder(graph, DType::Int64, {kUnknownDim}, "y");
    const Output hidden = relu(dense(x, 32, "hidden"));
    loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(y, dense(hidden, 3, "logits"))).named("loss");
    train = AdamOptimizer({.learning_rate = 1e-2}).minimize(loss, get_or_create_global_step(graph));
    init = global_variables_initializer(graph);
  }

  Graph graph;
  Output x, y, loss;
  Operation train, init;
};

std::vector<NamedTensor> everything(GraphSession& session) {
  std::vector<std::string> names;
  for (const StateSpec& spec : session.state()) names.push_back(spec.name);
  return session.snapshot(names);
}

void expect_same(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].tensor, b[i].tensor) << a[i].name;
  }
}

TEST(EigenSession, HasAKernelForEachOpThatIsDefinedAndADefinitionForEachKernel) {
  // Those that a plan needs no kernel for.
  std::set<std::string_view> run{
      "Const",     "Identity",     "NoOp",   "Placeholder", "PlaceholderWithDefault", "PreventGradient", "RefIdentity",
      "RefSwitch", "StopGradient", "Switch", "VariableV2"};
  std::set<std::string_view> defined;
  for (const detail::OpFamily family : compat::ops()) {
    for (const OpDef* def : family) defined.insert(def->type);
  }
  std::vector<KernelGroup> groups = compat::kernels();
  groups.insert(groups.end(), kernels::all().begin(), kernels::all().end());
  for (const KernelGroup group : groups) {
    for (const KernelDef& kernel : group) EXPECT_TRUE(run.insert(kernel.type).second) << kernel.type;
  }
  EXPECT_EQ(run, defined);
}

TEST(EigenSession, LearnsItsBatch) {
  Classifier model;
  EigenSession session(model.graph);
  session.run(model.init);
  const FeedDict feeds{{model.x, features()}, {model.y, labels()}};
  const float before = session.run(model.loss, feeds).scalar<float>();
  for (int i = 0; i < 200; ++i) session.run(model.train, feeds);
  EXPECT_LT(session.run(model.loss, feeds).scalar<float>(), 0.4F * before);
  EXPECT_EQ(session.run("global_step").scalar<std::int64_t>(), 200);
}

TEST(EigenSession, AllocatesNothingInASteadyTrainingStep) {
  for (const std::size_t num_threads : {1U, 2U}) {
    Classifier model;
    EigenSession session(model.graph, {.num_threads = num_threads});
    session.run(model.init);
    const std::array fetches{Fetch(model.train), Fetch(model.loss)};
    const std::array feeds{Feed{model.x, features()}, Feed{model.y, labels()}};
    std::array<Tensor, 2> results;
    for (int i = 0; i < 3; ++i) session.execute({.fetches = fetches, .feed_dict = feeds}, results);
    const support::AllocationCount count;
    for (int i = 0; i < 10; ++i) session.execute({.fetches = fetches, .feed_dict = feeds}, results);
    EXPECT_EQ(count.so_far(), 0U) << num_threads << " threads";
  }
}

TEST(EigenSession, EndsWithTheSameBitsWhenItIsInterrupted) {
  Classifier model;
  const FeedDict feeds{{model.x, features()}, {model.y, labels()}};
  EigenSession whole(model.graph);
  whole.run(model.init);
  for (int i = 0; i < 10; ++i) whole.run(model.train, feeds);
  const std::vector<NamedTensor> saved = everything(whole);
  for (int i = 0; i < 10; ++i) whole.run(model.train, feeds);

  EigenSession resumed(model.graph);
  resumed.load(saved);
  for (int i = 0; i < 10; ++i) resumed.run(model.train, feeds);
  expect_same(everything(whole), everything(resumed));
}

TEST(EigenSession, TakesElementsFromItsIteratorAndResumesIt) {
  Graph graph;
  const GraphIterator iterator = make_iterator(graph, Dataset::range(0, 6));
  const Output next = iterator.get_next<1>()[0];
  EigenSession session(graph);
  EXPECT_EQ(session.run(next).scalar<std::int64_t>(), 0);
  EXPECT_EQ(session.run(next).scalar<std::int64_t>(), 1);
  const std::vector<StateSpec> state = session.state();
  ASSERT_EQ(state.size(), 1U);
  EXPECT_EQ(state[0].name, "IteratorV2-state");
  EXPECT_EQ(state[0].kind, StateKind::Input);
  const std::vector<NamedTensor> saved = everything(session);

  EigenSession other(graph);
  EXPECT_EQ(other.run(next).scalar<std::int64_t>(), 0);
  other.load(saved);
  for (std::int64_t i = 2; i < 6; ++i) EXPECT_EQ(other.run(next).scalar<std::int64_t>(), i);
  EXPECT_THROW(other.run(next), OutOfRangeError);
  const std::vector<NamedTensor> broken{{"IteratorV2-state", Tensor("nonsense")}};
  EXPECT_THROW(session.load(broken), Error);
  EXPECT_EQ(session.run(next).scalar<std::int64_t>(), 2);
}

TEST(EigenSession, AveragesWithTheUpdatedStepAsTensorFlowDoes) {
  for (const bool is_read : {true, false}) {
    Graph graph;
    const Variable step = get_or_create_global_step(graph);
    const Variable w = make_variable("w", constant(graph, Tensor::of<float>({8, 1})));
    const Operation descent = GradientDescentOptimizer({.learning_rate = 0.5}).minimize(reduce_sum(w.read), step);
    ExponentialMovingAverage average({.decay = 0.9, .num_updates = is_read ? step.read : step.ref()});
    Operation update;
    {
      const Graph::Scope after = graph.control_dependencies({descent});
      update = average.apply({w});
    }
    EigenSession session(graph);
    session.run(global_variables_initializer(graph));
    const std::array<std::array<float, 2>, 3> expected{
        {{7.590909F, 0.5909091F}, {7.147727F, 0.14772728F}, {6.699301F, -0.3006993F}}};
    for (const std::array<float, 2>& values : expected) {
      session.run(update);
      const Tensor found = session.run(average.average(w)->read);
      for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(found.data<float>()[i], values[i], 1e-6);
    }
  }
}

TEST(EigenSession, LetsNoNanOutOfARootThatIsNotChosen) {
  Graph graph;
  const Output x = placeholder(graph, DType::Double, {4}, "x");
  const Output upstream = placeholder(graph, DType::Double, {4}, "upstream");
  EigenSession session(graph);
  const auto slope = [&](Output (*root)(Output, std::string_view)) {
    const Output chosen = where(greater(x, 0), root(x, {}), 0);
    return session.run(gradients(chosen, {x}, {.grad_ys = {upstream}})[0],
                       {{x, Tensor::of<double>({0, -1, 4, 0.25})}, {upstream, Tensor::of<double>({1, 1, 8, 0})}});
  };
  EXPECT_EQ(slope(sqrt), Tensor::of<double>({0, 0, 2, 0}));
  EXPECT_EQ(slope(rsqrt), Tensor::of<double>({0, 0, -0.5, 0}));
  EXPECT_EQ(slope(reciprocal), Tensor::of<double>({0, 0, -0.5, 0}));
}

TEST(EigenSession, DifferentiatesRootsTwice) {
  Graph graph;
  const Output x = placeholder(graph, DType::Double, {2}, "x");
  EigenSession session(graph);
  const auto curvature = [&](Output (*root)(Output, std::string_view)) {
    const Output slope = gradients(root(x, {}), {x})[0];
    return session.run(gradients(slope, {x})[0], {{x, Tensor::of<double>({1, 4})}});
  };
  EXPECT_EQ(curvature(sqrt), Tensor::of<double>({-0.25, -0.25 / 8}));
  EXPECT_EQ(curvature(rsqrt), Tensor::of<double>({0.75, 0.75 / 32}));
  EXPECT_EQ(curvature(reciprocal), Tensor::of<double>({2, 2.0 / 64}));
}

/// The gradients of what `build` makes of placeholders, for all of these, at `values`.
template <class Build>
std::vector<Tensor> slopes(const std::vector<Tensor>& values, Build build) {
  Graph graph;
  std::vector<Output> xs;
  FeedDict feeds;
  for (const Tensor& value : values) {
    xs.push_back(placeholder(graph, value.dtype(), value.shape()));
    feeds.push_back({xs.back(), value});
  }
  const std::vector<Output> found = gradients(std::vector<Output>(build(xs)), xs);
  EigenSession session(graph);
  return session.run(std::vector<Fetch>(found.begin(), found.end()), feeds);
}

/// A node without a builder.
Operation raw(const std::string& type, std::vector<Output> inputs, Attrs attrs = {}) {
  return detail::add_op(*find_op_def(type), {}, std::move(inputs), std::move(attrs)).operation();
}

using Outputs = std::vector<Output>;
using Axes = std::vector<std::int64_t>;

TEST(EigenSession, DifferentiatesRemainders) {
  const Tensor x = Tensor::of<double>({7, -7, 5.5, -0.5});
  const Tensor y = Tensor::of<double>({2, 2, -2, 3});
  const std::vector<Tensor> found = slopes({x, y}, [](const Outputs& in) { return Outputs{floormod(in[0], in[1])}; });
  EXPECT_EQ(found[0], Tensor::of<double>({1, 1, 1, 1}));
  EXPECT_EQ(found[1], Tensor::of<double>({-3, 4, 3, 1}));
}

TEST(EigenSession, DifferentiatesTheOlderAddition) {
  const Tensor x = Tensor::of<double>({1, 2, 3, 4}, {2, 2});
  const std::vector<Tensor> found = slopes({x, Tensor(1.0)}, [](const Outputs& in) {
    return Outputs{raw("Add", {in[0], in[1]}).output()};
  });
  EXPECT_EQ(found[0], Tensor::of<double>({1, 1, 1, 1}, {2, 2}));
  EXPECT_EQ(found[1], Tensor(4.0));
}

TEST(EigenSession, DifferentiatesAChoiceByRowByElementOrWhole) {
  const Tensor x = Tensor::of<double>({1, 2, 3, 4}, {2, 2});
  const auto of = [&](const Tensor& condition) {
    return slopes({x, x}, [&](const Outputs& in) {
      return Outputs{raw("Select", {constant(in[0].graph(), condition), square(in[0]), in[1]}).output()};
    });
  };
  const std::vector<Tensor> by_row = of(Tensor::of<bool>({true, false}));
  EXPECT_EQ(by_row[0], Tensor::of<double>({2, 4, 0, 0}, {2, 2}));
  EXPECT_EQ(by_row[1], Tensor::of<double>({0, 0, 1, 1}, {2, 2}));
  EXPECT_EQ(of(Tensor::of<bool>({true, false, false, true}, {2, 2}))[0], Tensor::of<double>({2, 0, 0, 8}, {2, 2}));
  EXPECT_EQ(of(Tensor(false))[1], Tensor::of<double>({1, 1, 1, 1}, {2, 2}));
}

TEST(EigenSession, DifferentiatesProductsThatHaveZeros) {
  const auto of = [](const Tensor& x, const ReduceOptions& options) {
    return slopes({x}, [&](const Outputs& in) { return Outputs{reduce_prod(in[0], options)}; })[0];
  };
  EXPECT_EQ(of(Tensor::of<double>({2, 0, 3}), {}), Tensor::of<double>({0, 6, 0}));
  EXPECT_EQ(of(Tensor::of<double>({0, 0, 3}), {}), Tensor::of<double>({0, 0, 0}));
  EXPECT_EQ(of(Tensor(5.0), {}), Tensor(1.0));
  const Tensor x = Tensor::of<double>({0, 1, 2, 3, 4, 5}, {2, 3});
  const Axes one{1};
  EXPECT_EQ(of(x, {.axis = one}), Tensor::of<double>({2, 0, 0, 20, 15, 12}, {2, 3}));
  EXPECT_EQ(of(x, {.axis = one, .keep_dims = true}), Tensor::of<double>({2, 0, 0, 20, 15, 12}, {2, 3}));
  EXPECT_EQ(of(x, {.axis = Axes()}), Tensor::of<double>({1, 1, 1, 1, 1, 1}, {2, 3}));
  const Tensor cube = Tensor::of<double>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 3, 2});
  EXPECT_EQ(of(cube, {.axis = Axes{0, 2}}),
            Tensor::of<double>({42, 0, 216, 144, 550, 440, 0, 0, 54, 48, 220, 200}, {2, 3, 2}));
  EXPECT_EQ(of(Tensor(DType::Double, Shape{0, 2}), {.axis = Axes{0}}).shape(), (Shape{0, 2}));
}

TEST(EigenSession, GivesZerosInCumulativeProductsNoGradientAsTensorFlowDoes) {
  const auto of = [](const CumulativeOptions& options) {
    return slopes({Tensor::of<double>({2, 0, 3, 0, 5})},
                  [&](const Outputs& in) { return Outputs{cumprod(in[0], options)}; })[0];
  };
  EXPECT_EQ(of({}), Tensor::of<double>({1, 0, 0, 0, 0}));
  EXPECT_EQ(of({.reverse = true}), Tensor::of<double>({0, 0, 0, 0, 1}));
  EXPECT_EQ(of({.exclusive = true}), Tensor::of<double>({1, 0, 0, 0, 0}));
  EXPECT_EQ(of({.exclusive = true, .reverse = true}), Tensor::of<double>({0, 0, 0, 0, 1}));
}

TEST(EigenSession, DifferentiatesProductsOfAnUnknownExtent) {
  Graph graph;
  const Output x = placeholder(graph, DType::Double, {-1, -1});
  const Output slope = gradients(reduce_prod(x, {.axis = Axes{0, 1}}), {x})[0];
  EXPECT_EQ(EigenSession(graph).run(slope, {{x, Tensor::of<double>({0, 2, 3, 4}, {2, 2})}}),
            Tensor::of<double>({24, 0, 0, 0}, {2, 2}));
}

TEST(EigenSession, DifferentiatesUnpackedPartsOfWhichOneIsUnused) {
  const Tensor x = Tensor::of<double>({0, 1, 2, 3, 4, 5}, {2, 3});
  const std::vector<Tensor> found = slopes({x}, [](const Outputs& in) {
    const Operation parts = raw("Unpack", {in[0]}, {{"axis", std::int64_t{1}}, {"num", std::int64_t{3}}});
    return Outputs{parts.output(0), parts.output(2) * 3};
  });
  EXPECT_EQ(found[0], Tensor::of<double>({1, 0, 3, 1, 0, 3}, {2, 3}));
}

TEST(EigenSession, DifferentiatesCrossEntropyForLabelsIfAsked) {
  const Tensor labels = Tensor::of<double>({0.2, 0.3, 0.5}, {1, 3});
  const Tensor logits = Tensor::of<double>({1, 2, 3}, {1, 3});
  const std::vector<Tensor> found = slopes({labels, logits}, [](const Outputs& in) {
    return Outputs{softmax_cross_entropy_with_logits_v2(in[0], in[1]) * 2};
  });
  const std::array<double, 3> for_labels{2.407605964, 1.407605964, 0.407605964};
  const std::array<double, 3> for_logits{-0.109969426, -0.055271529, 0.165240955};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(found[0].data<double>()[i], 2 * for_labels[i], 1e-8);
    EXPECT_NEAR(found[1].data<double>()[i], 2 * for_logits[i], 1e-8);
  }
}

TEST(EigenSession, UsesAKernelOfOnesOwn) {
  static constexpr std::array kMine{KernelDef{.type = "Relu", .make = [](const Node&) -> Kernel {
                                                return [](KernelContext& context) {
                                                  context.set_output(0, Tensor(42.0F));
                                                };
                                              }}};
  Graph graph;
  const Output x = placeholder(graph, DType::Float, Shape{});
  const Output y = relu(x);
  EigenSession session(graph, {.kernels = {kMine}});
  EXPECT_EQ(session.run(y, {{x, Tensor(1.0F)}}).scalar<float>(), 42.0F);
}

}  // namespace
}  // namespace trainhook
