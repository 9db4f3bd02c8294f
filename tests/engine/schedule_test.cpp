// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of which nodes run and in what order.
#include <trainhook/engine/schedule.hpp>

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {
namespace {

Kernel nothing(const Node&) {
  return [](KernelContext&) {};
}

constexpr std::array kPlain{KernelDef{.type = "Plain", .make = nothing},
                            KernelDef{.type = "Starter", .make = nothing, .starts = true}};

class SchedulerTest : public ::testing::Test {
 protected:
  Output constant(const std::string& name) {
    return graph_
        .add({.type = "Const",
              .name = name,
              .attrs = {{"dtype", DType::Float}, {"value", Tensor(1.0F)}},
              .outputs = {{DType::Float, Shape{}}}})
        .output();
  }
  Output node(const std::string& name, std::vector<Output> inputs, std::vector<Operation> after = {}) {
    return graph_
        .add({.type = "Plain",
              .name = name,
              .inputs = std::move(inputs),
              .control_inputs = std::move(after),
              .outputs = {{DType::Float, Shape{}}}})
        .output();
  }
  Operation start(const std::string& name, std::vector<Output> inputs, std::vector<Operation> after = {}) {
    return graph_.add(
        {.type = "Starter", .name = name, .inputs = std::move(inputs), .control_inputs = std::move(after)});
  }
  Output write(const std::string& name, const Variable& variable, Output value, std::vector<Operation> after = {}) {
    return graph_
        .add({.type = "AssignAdd",
              .name = name,
              .inputs = {variable.ref(), value},
              .control_inputs = std::move(after),
              .attrs = {{"T", DType::Float}},
              .outputs = {{DType::Float, Shape{}}}})
        .output();
  }

  std::string order_of(std::vector<Fetch> fetches, std::vector<Output> fed = {}) {
    const std::array<KernelGroup, 2> groups{kPlain, kernels::state()};
    const detail::KernelTable kernels(groups);
    std::string order;
    const detail::Scheduler scheduler(kernels, fetches, fed);
    for (const Node* node : scheduler.order()) order += (order.empty() ? "" : " ") + node->name();
    return order;
  }

  Graph graph_;
};

TEST_F(SchedulerTest, LeavesOutWhatIsNotNeeded) {
  const Output a = constant("a");
  const Output b = node("b", {a});
  node("unwanted", {b});
  EXPECT_EQ(order_of({b}), "a b");
}

TEST_F(SchedulerTest, StopsAtWhatIsFed) {
  const Output a = constant("a");
  const Output b = node("b", {a});
  const Output c = node("c", {b, b});
  EXPECT_EQ(order_of({c}, {b}), "c");
  EXPECT_EQ(order_of({b}, {b}), "");
}

TEST_F(SchedulerTest, RunsControlInputsFirst) {
  const Output a = constant("a");
  const Output effect = node("effect", {});
  const Output b = node("b", {a}, {effect.operation()});
  EXPECT_EQ(order_of({b}), "a effect b");
}

TEST_F(SchedulerTest, PutsReadersOfAVariableBeforeItsWriter) {
  const Variable v = make_variable("v", constant("zero"));
  const Output update = write("update", v, constant("one"));
  const Output late_reader = node("late_reader", {v.read});
  EXPECT_EQ(order_of({update, late_reader}), "v v/read one late_reader update");
}

TEST_F(SchedulerTest, LetsDependenciesPutAReaderAfterTheWriter) {
  const Variable v = make_variable("v", constant("zero"));
  const Output update = write("update", v, constant("one"));
  const Output after = node("after", {v.ref()}, {update.operation()});
  EXPECT_EQ(order_of({after}), "v one update after");
}

TEST_F(SchedulerTest, KnowsWhoReadsAVariableThatWasWrittenBefore) {
  const Variable v = make_variable("v", constant("zero"));
  const Output once = graph_
                          .add({.type = "Identity",
                                .name = "once",
                                .inputs = {v.ref()},
                                .attrs = {{"T", DType::Float}, {std::string(detail::kReadsOnce), true}},
                                .outputs = {{DType::Float, Shape{}}}})
                          .output();
  const Output early = node("early", {v.read});
  const Output update = write("update", v, constant("one"));
  const Output late = node("late", {v.read, once, early}, {update.operation()});
  const std::array<KernelGroup, 2> groups{kPlain, kernels::state()};
  const detail::KernelTable kernels(groups);
  const std::vector<Fetch> fetches{late};
  const detail::Scheduler scheduler(kernels, fetches, {});
  EXPECT_EQ(scheduler.variable_read_late(v.read, late.node()), &v.handle.node());
  EXPECT_EQ(scheduler.variable_read_late(v.ref(), late.node()), &v.handle.node());
  EXPECT_EQ(scheduler.variable_read_late(once, late.node()), nullptr) << "keeps what it has read";
  EXPECT_EQ(scheduler.variable_read_late(early, late.node()), nullptr);
  EXPECT_EQ(scheduler.variable_read_late(v.read, early.node()), nullptr);
}

TEST_F(SchedulerTest, RunsAWriterAsSoonAsTheLastReaderIsDone) {
  const Variable v = make_variable("v", constant("zero"));
  const Output use = node("use", {v.read});
  const Output other = node("other", {constant("one")});
  const Output update = write("update", v, use);
  const Output unrelated = node("unrelated", {other});
  EXPECT_EQ(order_of({update, unrelated}), "v v/read use update one other unrelated");
}

TEST_F(SchedulerTest, RunsAStarterAsSoonAsItsInputsAreThereAndWhatWaitsForItLast) {
  const Output top = node("top", {});
  const Output middle = node("middle", {top});
  const Output bottom = node("bottom", {middle});
  const Operation start_top = start("start_top", {top});
  const Output finish_top = node("finish_top", {}, {start_top});
  const Operation start_bottom = start("start_bottom", {bottom}, {start_top});
  const Output finish_bottom = node("finish_bottom", {}, {start_bottom});
  EXPECT_EQ(order_of({finish_bottom, finish_top}), "top start_top middle bottom start_bottom finish_top finish_bottom");
}

TEST_F(SchedulerTest, FindsAnOrderIfReadersAndWritersWaitForEachOther) {
  const Variable a = make_variable("a", constant("a0"));
  const Variable b = make_variable("b", constant("b0"));
  const Output one = constant("one");
  const Output write_a = write("write_a", a, one);
  const Output write_b = write("write_b", b, one);
  const Output read_a = node("read_a", {a.read}, {write_b.operation()});
  const Output read_b = node("read_b", {b.read}, {write_a.operation()});
  EXPECT_EQ(order_of({read_a, read_b}), "a a/read b b/read one write_a read_b write_b read_a");
}

}  // namespace
}  // namespace trainhook
