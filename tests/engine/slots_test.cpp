// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of which slots the values of a plan get, and when they are free again.
#include <trainhook/engine/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {
namespace {

struct AssignSlots : ::testing::Test {
  const OutputSpec vector{DType::Float, Shape{4}};
  const OutputSpec scalar{DType::Float, Shape{}};
  Plan plan;

  std::uint32_t owned(const OutputSpec& spec) { return add({.kind = ValueKind::Owned, .spec = &spec}); }
  std::uint32_t handle(std::uint32_t root = kNone) {
    return add({.kind = ValueKind::Borrowed, .spec = &vector, .root = root});
  }
  std::uint32_t add(PlanValue value) {
    const auto number = static_cast<std::uint32_t>(plan.values.size());
    if (value.root == kNone) value.root = number;
    plan.values.push_back(value);
    return number;
  }
  void step(const std::vector<std::uint32_t>& inputs, const std::vector<std::uint32_t>& outputs) {
    PlanStep& step = plan.steps.emplace_back();
    step.inputs = append(plan.inputs, inputs);
    step.outputs = append(plan.outputs, outputs);
  }
  static PlanRange append(std::vector<std::uint32_t>& list, const std::vector<std::uint32_t>& items) {
    const auto begin = static_cast<std::uint32_t>(list.size());
    list.insert(list.end(), items.begin(), items.end());
    return {begin, static_cast<std::uint32_t>(list.size())};
  }
  [[nodiscard]] std::uint32_t slot(std::uint32_t value) const { return plan.values[value].slot; }
  [[nodiscard]] bool releases(std::size_t step, std::uint32_t value) const {
    const auto released = plan.steps[step].releases.of(plan.releases);
    return std::ranges::find(released, slot(value)) != released.end();
  }
};

TEST_F(AssignSlots, TakeTurnsOnceAValueIsDead) {
  const auto a = owned(vector), b = owned(vector), c = owned(vector), d = owned(scalar);
  step({}, {a});
  step({a}, {b});
  step({b}, {c, d});
  plan.results = {{.value = c}};
  assign_slots(plan);
  EXPECT_EQ(slot(c), slot(a));
  EXPECT_NE(slot(b), slot(a)) << "is written while the other is read";
  EXPECT_NE(slot(d), slot(a)) << "a scalar has slots of its own";
  EXPECT_EQ(plan.num_slots, 3U);
}

TEST_F(AssignSlots, LastAsLongAsAValueSharesTheBuffer) {
  const auto a = owned(vector), shared = handle(a), b = owned(vector), c = owned(vector);
  step({}, {a});
  step({a}, {shared});
  step({shared}, {b});
  step({b}, {c});
  assign_slots(plan);
  EXPECT_NE(slot(b), slot(a));
  EXPECT_EQ(slot(c), slot(a));
  EXPECT_FALSE(releases(1, shared));
  EXPECT_TRUE(releases(2, shared));
  EXPECT_EQ(plan.borrowed, std::vector{slot(shared)});
}

TEST_F(AssignSlots, LetOnlyTheSingleUserOfAValueMoveIt) {
  const auto once = owned(vector), twice = owned(vector), shared = owned(vector), fetched = owned(vector);
  const auto sharing = handle(shared);
  step({}, {once, twice, shared, fetched});
  step({once, twice, shared, fetched}, {sharing});
  step({twice}, {});
  plan.results = {{.value = fetched}};
  assign_slots(plan);
  EXPECT_TRUE(plan.values[once].is_movable());
  for (const auto value : {twice, shared, fetched, sharing}) EXPECT_FALSE(plan.values[value].is_movable()) << value;
}

TEST_F(AssignSlots, AreNotForAResultOfAWriteThatNobodyTakes) {
  const auto unused = handle(), used = handle();
  step({}, {});
  plan.steps[0].result_of_write = unused;
  step({}, {});
  plan.steps[1].result_of_write = used;
  step({used}, {});
  assign_slots(plan);
  EXPECT_EQ(plan.steps[0].result_of_write, kNone);
  EXPECT_EQ(plan.steps[1].result_of_write, used);
  EXPECT_EQ(plan.num_slots, 1U);
  EXPECT_TRUE(releases(2, used));
}

}  // namespace
}  // namespace trainhook::detail
