// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of what a plan consists of.
#include <trainhook/engine/planner.hpp>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {
namespace {

int calls = 0;

Kernel make_double(const Node&) {
  return [](KernelContext& context) {
    ++calls;
    const std::span<const float> x = context.data<float>(0);
    const std::span<float> y = context.output<float>(0, context.shape(0));
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
  };
}

constexpr std::array kTwo{
    KernelDef{.type = "Double", .make = make_double},
    KernelDef{.type = "DoubleAnew", .make = make_double, .stateful = true},
};

constexpr std::array kDoubleOp{OpDef{.type = "Double", .signature = "T -> T"}};

class PlannerTest : public ::testing::Test {
 protected:
  Output constant(const Tensor& value) {
    return graph_
        .add({.type = "Const",
              .attrs = {{"dtype", value.dtype()}, {"value", value}},
              .outputs = {{value.dtype(), value.shape()}}})
        .output();
  }
  Output placeholder(const PartialShape& shape) {
    return graph_
        .add({.type = "Placeholder",
              .name = "x",
              .attrs = {{"dtype", DType::Float}},
              .outputs = {{DType::Float, shape}}})
        .output();
  }
  Output twice(Output x, const std::string& type = "Double") {
    return graph_.add({.type = type, .inputs = {x}, .outputs = {{x.dtype(), x.shape()}}}).output();
  }
  std::unique_ptr<detail::Plan> plan(std::vector<Fetch> fetches, std::vector<Feed> feeds = {}) {
    calls = 0;
    const std::array<KernelGroup, 2> groups{kTwo, kernels::state()};
    const detail::KernelTable kernels(groups);
    const detail::FindState state_of = [this](const Node& node, const KernelDef*) -> NodeState& {
      std::unique_ptr<VariableState>& state = variables_[&node];
      if (state == nullptr) state = std::make_unique<VariableState>(node);
      return *state;
    };
    return detail::Planner(kernels, state_of, {.fetches = fetches, .feed_dict = feeds}).make();
  }

  Graph graph_;
  std::map<const Node*, std::unique_ptr<VariableState>> variables_;
};

TEST_F(PlannerTest, ComputesWhatDependsOnConstantsAhead) {
  const auto made = plan({twice(twice(constant(Tensor(3.0F))))});
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(made->steps.empty());
  const detail::PlanValue& result = made->values[made->results[0].value];
  ASSERT_EQ(result.kind, detail::ValueKind::Constant);
  EXPECT_EQ(result.constant->scalar<float>(), 12.0F);
}

TEST_F(PlannerTest, LeavesStatefulNodesToTheRun) {
  EXPECT_EQ(plan({twice(constant(Tensor(3.0F)), "DoubleAnew")})->steps.size(), 1U);
  EXPECT_EQ(calls, 0);
}

TEST_F(PlannerTest, DoesNotKeepLargeConstantsTwice) {
  EXPECT_EQ(plan({twice(constant(Tensor(DType::Float, Shape{1000, 1000})))})->steps.size(), 1U);
  EXPECT_EQ(calls, 0);
}

TEST_F(PlannerTest, UsesSlotsAgainOnceTheirValueIsDead) {
  Output x = placeholder({kUnknownDim});
  const Output fed = x;
  for (int i = 0; i < 10; ++i) x = twice(x);
  const auto made = plan({x}, {{fed, Tensor::of<float>({1})}});
  EXPECT_EQ(made->steps.size(), 10U);
  EXPECT_EQ(made->num_slots, 3U);  // the fed value's and two that take turns
}

TEST_F(PlannerTest, SkipsIdentitiesOfValues) {
  const Output x = placeholder({kUnknownDim});
  const auto made = plan({twice(x).named("a").named("b")}, {{x, Tensor::of<float>({1})}});
  EXPECT_EQ(made->steps.size(), 1U);
}

TEST_F(PlannerTest, NamesThePlaceholderThatHasNoFeed) {
  const Output doubled = twice(placeholder({kUnknownDim}));
  try {
    static_cast<void>(plan({doubled}));
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("You must feed a value for placeholder 'x'"), std::string::npos)
        << error.what();
  }
}

TEST_F(PlannerTest, NamesTheOpThatHasNoKernel) {
  const Output strange = graph_.add({.type = "Strange", .name = "here", .outputs = {{DType::Float, {}}}}).output();
  try {
    static_cast<void>(plan({strange}));
    FAIL() << "no error";
  } catch (const UnimplementedError& error) {
    EXPECT_NE(std::string(error.what()).find("Strange of node 'here'"), std::string::npos) << error.what();
  }
}

TEST_F(PlannerTest, RefusesAnImportedNodeOfAnUnknownOpTypeOnlyIfItIsNeeded) {
  import_graph_def(graph_, parse_graph_def_text(R"(
                     node { name: "jpeg" op: "DecodeJpeg" }
                     node { name: "y" op: "Double" input: "jpeg" attr { key: "T" value { type: DT_FLOAT } } }
                     node { name: "other" op: "NoOp" })"),
                   {.name = "", .op_defs = kDoubleOp});
  EXPECT_NO_THROW(static_cast<void>(plan({graph_.operation("other")})));
  EXPECT_NO_THROW(static_cast<void>(plan({graph_.output("y")}, {{graph_.output("jpeg"), Tensor(2.0F)}})));
  try {
    static_cast<void>(plan({graph_.output("y")}));
    FAIL() << "no error";
  } catch (const UnimplementedError& error) {
    EXPECT_STREQ(
        error.what(),
        "op type DecodeJpeg of node 'jpeg' is not known here; feed what the node gives, or give a kernel for it "
        "in the session's options");
  }
}

TEST_F(PlannerTest, KnowsARequestForVariablesAlone) {
  const Variable v = make_variable("v", constant(Tensor(1.0F)));
  EXPECT_TRUE(plan({v, v.ref()})->only_reads);
  EXPECT_FALSE(plan({v, twice(v)})->only_reads);
  EXPECT_FALSE(plan({v.initializer, v})->only_reads);
}

TEST_F(PlannerTest, RefusesAFedVariableIfItIsWritten) {
  const Variable v = make_variable("v", constant(Tensor(1.0F)));
  EXPECT_THROW(static_cast<void>(plan({v.initializer}, {{v.ref(), Tensor(2.0F)}})), InvalidArgumentError);
}

TEST_F(PlannerTest, RefusesTheSameFeedTwice) {
  const Output x = placeholder({});
  EXPECT_THROW(static_cast<void>(plan({twice(x)}, {{x, Tensor(2.0F)}, {x, Tensor(3.0F)}})), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
