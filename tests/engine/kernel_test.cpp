// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of what kernels see, and of their table.
#include <trainhook/engine/kernel.hpp>

#include <array>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/graph/graph.hpp>

namespace trainhook {
namespace {

Kernel first(const Node&) { return {}; }
Kernel second(const Node&) { return {}; }

TEST(KernelTable, TakesTheKernelOfTheEarlierGroup) {
  constexpr std::array mine{KernelDef{.type = "Op", .make = first}};
  constexpr std::array library{KernelDef{.type = "Op", .make = second}, KernelDef{.type = "Other", .make = second}};
  const std::array<KernelGroup, 2> groups{mine, library};
  const detail::KernelTable table(groups);
  EXPECT_EQ(table.find("Op")->make, first);
  EXPECT_EQ(table.find("Other")->make, second);
  EXPECT_EQ(table.find("Unknown"), nullptr);
}

class KernelContextTest : public ::testing::Test {
 protected:
  KernelContext context(std::span<const KernelContext::Input> inputs) {
    return {*node_, inputs, outputs_, nullptr, scratch_, threads_};
  }

  Graph graph_;
  const Node* node_ = &graph_.add({.type = "Op"}).node();
  Tensor result_;
  std::array<Tensor*, 1> outputs_{&result_};
  Tensor scratch_;
  detail::KernelThreads threads_{1};
};

TEST_F(KernelContextTest, KeepsAnOutputsBufferFromRunToRun) {
  const float* before = context({}).output<float>(0, Shape{100}).data();
  EXPECT_EQ(context({}).output<float>(0, Shape{100}).data(), before);
  EXPECT_EQ(context({}).output<float>(0, Shape{10, 5}).data(), before);
}

TEST_F(KernelContextTest, NeverWritesToABufferThatAnotherHandleShares) {
  context({}).output<float>(0, Shape{1})[0] = 1;
  const Tensor kept = result_;
  context({}).output<float>(0, Shape{1})[0] = 2;
  EXPECT_EQ(kept.data<float>()[0], 1.0F);
}

TEST_F(KernelContextTest, MovesAnInputThatNothingElseNeeds) {
  Tensor value = Tensor::of<float>({1, 2});
  const float* elements = value.data<float>().data();
  Tensor target = Tensor::of<float>({3, 4});
  const std::array inputs{KernelContext::Input{.value = &value, .movable = &value}};
  context(inputs).move_input(0, target);
  EXPECT_EQ(target.data<float>().data(), elements);
  EXPECT_EQ(value, Tensor::of<float>({3, 4}));  // the buffer comes back for the next run
}

TEST_F(KernelContextTest, SharesAnInputThatOthersStillWant) {
  const Tensor value = Tensor::of<float>({1, 2});
  Tensor target;
  const std::array inputs{KernelContext::Input{.value = &value}};
  context(inputs).move_input(0, target);
  EXPECT_EQ(target, value);
  EXPECT_FALSE(target.is_unique());
}

TEST_F(KernelContextTest, GivesAlignedScratchMemory) {
  std::byte* memory = context({}).scratch<std::byte>(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
  EXPECT_EQ(context({}).scratch<std::byte>(10), memory);
}

TEST(VariableState, RefusesWhatDoesNotFit) {
  Graph graph;
  const Operation node = graph.add({.type = "VariableV2", .name = "v", .outputs = {{DType::Float, PartialShape{2}}}});
  VariableState state(node.node());
  EXPECT_THROW(static_cast<void>(state.read()), FailedPreconditionError);
  EXPECT_THROW(static_cast<void>(state.prepare_load(Tensor::of<float>({1, 2, 3}))), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(state.prepare_load(Tensor::of<double>({1, 2}))), InvalidArgumentError);
  EXPECT_FALSE(state.spec()->initialized);
  const Tensor value = Tensor::of<float>({1, 2});
  state.prepare_load(value)();
  EXPECT_EQ(state.read(), Tensor::of<float>({1, 2}));
  EXPECT_TRUE(state.spec()->initialized);
}

}  // namespace
}  // namespace trainhook
