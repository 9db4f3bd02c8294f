// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a session for graphs says of feeds, nodes and kernels that are wrong, and that it can be used afterwards.
#include <trainhook/engine/graph_session.hpp>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/ops/math.hpp>

#include "graph_session_fixture.hpp"

namespace trainhook {
namespace {

using test::contains;
using test::GraphSessionTest;
using test::message_of;

struct OwnError : InvalidArgumentError {
  OwnError() : InvalidArgumentError("mine") {}
};

Kernel make_throw_own(const Node&) {
  return [](KernelContext&) { throw OwnError(); };
}
Kernel make_throw_foreign(const Node&) {
  return [](KernelContext&) { throw std::logic_error("foreign"); };
}
Kernel make_end(const Node&) {
  return [](KernelContext&) { throw OutOfRangeError("End of sequence"); };
}
Kernel make_nothing(const Node&) {
  return [](KernelContext&) {};
}
Kernel make_double(const Node&) {
  return [](KernelContext& context) { context.output<double>(0, Shape{1})[0] = 1; };
}
Kernel make_second(const Node&) {
  return [](KernelContext& context) { context.output<float>(1, Shape{1})[0] = 1; };
}
constexpr std::array kOwn{
    KernelDef{.type = "ThrowOwn", .make = make_throw_own, .stateful = true},
    KernelDef{.type = "ThrowForeign", .make = make_throw_foreign, .stateful = true},
    KernelDef{.type = "End", .make = make_end, .stateful = true},
    KernelDef{.type = "Nothing", .make = make_nothing},
    KernelDef{.type = "Double", .make = make_double},
    KernelDef{.type = "Second", .make = make_second},
};

GraphSessionOptions all_kernels() {
  GraphSessionOptions options = test::all_kernels();
  options.kernels.push_back(kOwn);
  return options;
}

TEST_F(GraphSessionTest, NamesAVariableWithoutValue) {
  const Variable v = make_variable("v", vector({1}));
  const Output update = assign_add(v, vector({1}));
  const Output twice = v + v;
  GraphSession session(graph_, all_kernels());
  for (const Output fetch : {v.read, update, twice, v.ref()}) {
    EXPECT_TRUE(contains(message_of<FailedPreconditionError>([&] { session.run(fetch); }),
                         "Attempting to use uninitialized value v"))
        << fetch.name();
  }
  const Output ready = is_variable_initialized(v);
  EXPECT_FALSE(session.run(ready).scalar<bool>());
  session.run(v.initializer);
  EXPECT_TRUE(session.run(ready).scalar<bool>());
}

TEST_F(GraphSessionTest, SaysWhatIsWrongWithAFeed) {
  const Output x = placeholder(graph_, DType::Float, {kUnknownDim, 2}, "x");
  const Output sum = x + x;
  GraphSession session(graph_, all_kernels());
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] { session.run(sum); }),
                       "You must feed a value for placeholder 'x'"));
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] {
                         session.run(sum, {{x, Tensor(std::int32_t{1})}});
                       }),
                       "'x:0' takes float32 and was fed int32[]"));
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] {
                         session.run(sum, {{x, Tensor::of<float>({1, 2, 3})}});
                       }),
                       "Cannot feed value of shape [3] for 'x:0', which has shape [?,2]"));
  EXPECT_EQ(session.run(sum, {{x, Tensor::of<float>({1, 2}, {1, 2})}}), Tensor::of<float>({2, 4}, {1, 2}));
}

TEST_F(GraphSessionTest, RefusesAnotherGraphsNodes) {
  Graph other;
  const Output foreign = constant(other, Tensor(1.0F), "foreign");
  const Output mine = vector({1});
  GraphSession session(graph_, all_kernels());
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] { session.run(foreign); }), "'foreign'"));
  EXPECT_THROW(session.run(mine, {{foreign, Tensor(1.0F)}}), InvalidArgumentError);
}

TEST_F(GraphSessionTest, PutsNodeTypeAndShapesBeforeAKernelsError) {
  const Output x = placeholder(graph_, DType::Float, {}, "x");
  const Output sum = add(x, vector({1, 2}), "sum");
  GraphSession session(graph_, all_kernels());
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] {
                         session.run(sum, {{x, Tensor::of<float>({1, 2, 3})}});
                       }),
                       "sum (AddV2) of float32[3], float32[2]: Incompatible shapes"));
}

TEST_F(GraphSessionTest, SaysWhatAKernelOfOnesOwnDoesWrong) {
  const auto op = [&](const char* type) {
    return graph_.add({.type = type, .outputs = {{DType::Float, Shape{1}}}}).output();
  };
  const Output nothing = op("Nothing");
  const Output twice = op("Double");
  const Output second = op("Second");
  GraphSession session(graph_, all_kernels());
  EXPECT_EQ(message_of<InternalError>([&] { session.run(nothing); }),
            "Nothing (Nothing): the kernel gave nothing as output 0, where the node says float32");
  EXPECT_EQ(message_of<InternalError>([&] { session.run(twice); }),
            "Double (Double): the kernel gave float64 as output 0, where the node says float32");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(second); }),
            "Second (Second): the kernel asks for output 1, and the node has 1 of them");
}

TEST_F(GraphSessionTest, SaysWhatANodeMadeByHandLacks) {
  const auto op = [&](const char* type, std::vector<Output> inputs, std::vector<OutputSpec> outputs) {
    return graph_.add(
        {.type = type, .inputs = std::move(inputs), .attrs = {{"T", DType::Float}}, .outputs = std::move(outputs)});
  };
  const OutputSpec scalar{DType::Float, Shape{}};
  const Operation add = op("AddV2", {vector({1})}, {scalar});
  const Operation no_output = op("Neg", {vector({1})}, {});
  const Operation identity = op("Identity", {}, {scalar});
  const Operation assign = op("Assign", {}, {scalar});
  const Operation variable = op("VariableV2", {}, {});
  GraphSession session(graph_, all_kernels());
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(add); }),
            "AddV2 (AddV2) of float32[1]: the kernel asks for input 1, and the node has 1 of them");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(no_output); }),
            "Neg (Neg) of float32[1]: the kernel asks for output 0, and the node has 0 of them");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(identity); }),
            "node 'Identity' (Identity) cannot have 0 inputs");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(assign); }),
            "node 'Assign' (Assign) cannot have 0 inputs");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(variable); }),
            "node 'VariableV2' (VariableV2) cannot have 0 outputs");
}

TEST_F(GraphSessionTest, KeepsTheTypeOfAnError) {
  const auto op = [&](const char* type) { return graph_.add({.type = type}); };
  const Operation own = op("ThrowOwn");
  const Operation foreign = op("ThrowForeign");
  const Operation end = op("End");
  GraphSession session(graph_, all_kernels());
  EXPECT_EQ(message_of<OwnError>([&] { session.run(own); }), "mine");
  EXPECT_EQ(message_of<std::logic_error>([&] { session.run(foreign); }), "foreign");
  EXPECT_EQ(message_of<OutOfRangeError>([&] { session.run(end); }), "End (End): End of sequence");
}

TEST_F(GraphSessionTest, StaysUsableAfterAnError) {
  const Variable v = make_variable("v", vector({1}));
  const Output update = assign_add(v, placeholder(graph_, DType::Float, {}, "x"));
  const Output x = graph_.output("x");
  GraphSession session(graph_, all_kernels());
  session.run(v.initializer);
  EXPECT_THROW(session.run(update, {{x, Tensor::of<float>({1, 2})}}), InvalidArgumentError);
  EXPECT_EQ(session.run(update, {{x, Tensor::of<float>({2})}}), Tensor::of<float>({3}));
}

TEST_F(GraphSessionTest, RunsNothingOnceClosed) {
  const Output x = vector({1});
  GraphSession session(graph_, all_kernels());
  session.run(x);
  session.close();
  session.close();
  EXPECT_THROW(session.run(x), FailedPreconditionError);
}

}  // namespace
}  // namespace trainhook
