// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of SessionRef.
#include <trainhook/session/session_ref.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocations.hpp"
#include "engine_double.hpp"

namespace trainhook {
namespace {

using Engine = support::EngineDouble<true>;

TEST(SessionRef, IsTwoPointersAndMayBeEmpty) {
  static_assert(sizeof(SessionRef) == 2 * sizeof(void*));
  EXPECT_FALSE(SessionRef().has_value());
  Engine engine;
  EXPECT_TRUE(SessionRef(engine).has_value());
}

TEST(SessionRef, ComparesByTheSessionItRefersTo) {
  Engine one;
  Engine two;
  const SessionRef ref(one);
  const SessionRef copy = ref;
  EXPECT_EQ(copy, SessionRef(one));
  EXPECT_FALSE(ref == SessionRef(two));
  EXPECT_EQ(&ref.as<Engine>(), &one);
}

TEST(SessionRef, PassesEverythingOnToTheEngine) {
  Engine engine;
  const SessionRef ref(engine);
  EXPECT_EQ(&ref.graph(), &engine.graph());
  ASSERT_EQ(ref.state().size(), 1U);
  EXPECT_EQ(ref.state()[0].name, "weights");
  const std::vector<std::string> names = {"a", "b"};
  const std::vector<NamedTensor> entries = ref.snapshot(names);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[1].name, "b");
  ref.load(entries);
  ref.close();
  EXPECT_EQ(engine.take(), "load a\nload b\nclose\n");
}

TEST(SessionRef, TellsItsShareOfRandomNumbersToAnEngineThatDrawsThem) {
  struct Draws : Engine {
    void draw_share(int number, int count) { told = {number, count}; }
    std::vector<int> told{};
  };
  Draws draws;
  SessionRef(draws).draw_share(2, 3);
  EXPECT_EQ(draws.told, (std::vector{2, 3}));
  Engine engine;
  EXPECT_NO_THROW(SessionRef(engine).draw_share(2, 3));
}

TEST(SessionRef, AsksForDeferredValuesWhereTheEngineHasThem) {
  struct OnADevice : Engine {
    [[nodiscard]] std::function<Tensor()> deferred_value(std::string_view name) {
      return [name] { return Tensor(name); };
    }
  };
  OnADevice device;
  EXPECT_EQ(SessionRef(device).deferred_value("weights")(), Tensor("weights"));
  Engine engine;
  EXPECT_FALSE(SessionRef(engine).deferred_value("weights"));
}

TEST(SessionRef, OffersAllFormsOfRun) {
  Engine engine;
  const Output loss = constant(engine.graph(), Tensor(1.0F), "loss");
  SessionRef ref(engine);
  EXPECT_TRUE(ref.run(loss).has_value());
  EXPECT_TRUE(ref.run("loss").has_value());
  const auto [a, b] = ref.run({loss, loss});
  EXPECT_EQ(b.scalar<std::int32_t>(), 1);
  int calls = 0;
  ref.run([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(engine.take(), "run loss:\nrun loss:\nrun loss: loss:\nrun\n");
}

TEST(SessionRef, CostsNoAllocation) {
  Engine engine;
  const support::AllocationCount count;
  const SessionRef ref(engine);
  (void)ref.graph();
  EXPECT_TRUE(ref.has_value());
  EXPECT_EQ(count.so_far(), 0U);
}

}  // namespace
}  // namespace trainhook
