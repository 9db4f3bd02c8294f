// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ranks that get the values of one of them.
#include <trainhook/ranks/share_variables.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/session/session_ref.hpp>

#include "engine_double.hpp"

namespace trainhook::detail {
namespace {

/// A variable, a text and the state of something else; keeps what is loaded.
class ThreeStates : public support::EngineDouble<false> {
 public:
  explicit ThreeStates(Tensor initial) : weights(std::move(initial)) {}

  [[nodiscard]] std::vector<StateSpec> state() const {
    return {{.name = "weights", .dtype = weights.dtype(), .shape = weights.shape(), .initialized = has_value},
            {.name = "label", .dtype = DType::String},
            {.name = "noise", .kind = StateKind::Auxiliary, .dtype = DType::Int64}};
  }
  [[nodiscard]] std::vector<NamedTensor> snapshot(std::span<const std::string> names) const {
    EXPECT_EQ(std::vector<std::string>(names.begin(), names.end()), std::vector<std::string>{"weights"});
    EXPECT_TRUE(has_value);
    return {{"weights", weights}};
  }
  void load(std::span<const NamedTensor> entries) {
    for (const NamedTensor& entry : entries) weights = entry.tensor;
  }

  Tensor weights;
  bool has_value = true;
};

TEST(ShareVariables, GivesEachRankTheVariablesOfTheSource) {
  ThreeStates source(Tensor::of<float>({1, 2, 3}));
  ThreeStates other(Tensor::of<float>({7, 8, 9}));
  std::vector<std::string> sent;
  share_variables(SessionRef(source), true, [&](std::string bytes) {
    sent.push_back(bytes);
    return bytes;
  });
  std::vector<std::string> given;
  share_variables(SessionRef(other), false, [&](std::string bytes) {
    given.push_back(std::move(bytes));
    return sent.at(given.size() - 1);
  });
  EXPECT_EQ(other.weights, Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(source.weights, Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(sent.size(), 1U);
  EXPECT_EQ(given, std::vector<std::string>{""});
}

TEST(ShareVariables, GivesValuesToVariablesThatHaveNone) {
  ThreeStates source(Tensor::of<float>({1, 2, 3}));
  ThreeStates other(Tensor::of<float>({0, 0, 0}));
  other.has_value = false;  // a snapshot would fail
  std::string sent;
  share_variables(SessionRef(source), true, [&](const std::string& bytes) { return sent = bytes; });
  share_variables(SessionRef(other), false, [&](const std::string&) { return sent; });
  EXPECT_EQ(other.weights, Tensor::of<float>({1, 2, 3}));
}

TEST(ShareVariables, ResizesAVariableToThatOfTheSource) {
  LoopSession loops[2];
  std::vector<float> points[2] = {{1, 2, 3, 4}, {5, 6}};
  std::vector<std::string> sent;
  for (std::size_t i = 0; i < 2; ++i) {
    loops[i].variable("points", points[i], {.shape = {-1, 2}, .resizable = true});
    share_variables(SessionRef(loops[i]), i == 0, [&](const std::string& bytes) {
      if (i == 0) sent.push_back(bytes);
      return sent.at(0);
    });
  }
  EXPECT_EQ(points[1], (std::vector<float>{1, 2, 3, 4}));
}

/// Five variables of 6 MiB.
class Large : public support::EngineDouble<false> {
 public:
  explicit Large(float first) {
    for (float& value : values) value = first++;
  }

  [[nodiscard]] std::vector<StateSpec> state() const {
    std::vector<StateSpec> specs;
    for (char name = '0'; name < '5'; ++name)
      specs.push_back({.name = {name}, .dtype = DType::Float, .shape = kShape, .initialized = true});
    return specs;
  }
  [[nodiscard]] std::vector<NamedTensor> snapshot(std::span<const std::string> names) const {
    Tensor tensor(DType::Float, kShape);
    std::ranges::fill(tensor.mutable_data<float>(), values.at(static_cast<std::size_t>(names[0][0] - '0')));
    return {{names[0], tensor}};
  }
  void load(std::span<const NamedTensor> entries) {
    values.at(static_cast<std::size_t>(entries[0].name[0] - '0')) = entries[0].tensor.data<float>().back();
  }

  static inline const Shape kShape{3 << 19};
  std::array<float, 5> values{};
};

TEST(ShareVariables, SendsThoseOf16MiBAtOnce) {
  Large source(1);
  Large other(7);
  std::vector<std::string> sent;
  share_variables(SessionRef(source), true, [&](std::string bytes) { return sent.emplace_back(std::move(bytes)); });
  std::size_t given = 0;
  share_variables(SessionRef(other), false, [&](const std::string&) { return sent.at(given++); });
  EXPECT_EQ(other.values, source.values);
  EXPECT_EQ(sent.size(), 2U);
  EXPECT_EQ(given, 2U);
}

TEST(ShareVariables, LeavesAVariableAloneThatHasNoValueInTheSource) {
  ThreeStates source(Tensor::of<float>({1, 2, 3}));
  source.has_value = false;
  ThreeStates other(Tensor::of<float>({7, 8, 9}));
  std::string sent = "not called";
  share_variables(SessionRef(source), true, [&](const std::string& bytes) { return sent = bytes; });
  share_variables(SessionRef(other), false, [&](const std::string&) { return sent; });
  EXPECT_EQ(other.weights, Tensor::of<float>({7, 8, 9}));
}

TEST(ShareVariables, OfAnotherShapeIsAnErrorThatNamesTheVariable) {
  ThreeStates source(Tensor::of<float>({1, 2}));
  std::string sent;
  share_variables(SessionRef(source), true, [&](const std::string& bytes) { return sent = bytes; });
  ThreeStates other(Tensor::of<float>({7, 8, 9}));
  try {
    share_variables(SessionRef(other), false, [&](const std::string&) { return sent; });
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "the variable 'weights' is float32[3] on this rank, and what came is 24 bytes of shape [2]: all ranks must "
        "have the same variables");
  }
  for (const std::size_t length : {1U, 7U, 8U, 12U, 31U}) {
    EXPECT_THROW(share_variables(SessionRef(other), false, [&](const std::string&) { return sent.substr(0, length); }),
                 DataLossError)
        << length;
  }
  EXPECT_EQ(other.weights, Tensor::of<float>({7, 8, 9}));
}

}  // namespace
}  // namespace trainhook::detail
