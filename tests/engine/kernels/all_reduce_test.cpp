// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of reductions over the processes of a job, with a reducer that takes the other ranks for copies of this
/// one.
#include <trainhook/engine/kernels/all_reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/gradients.hpp>
#include <trainhook/graph/ops/all_reduce.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/math.hpp>

namespace trainhook {
namespace {

/// Four ranks that have the same values. Remembers how many elements each call had.
class Copies final : public AllReducer {
 public:
  [[nodiscard]] int size() const noexcept override { return 4; }
  void add_up(std::span<std::byte> values, DType dtype) override {
    switch (dtype) {
      case DType::Float: multiply_by_size<float>(values); break;
      case DType::Double: multiply_by_size<double>(values); break;
      case DType::Int32: multiply_by_size<std::int32_t>(values); break;
      case DType::Int64: multiply_by_size<std::int64_t>(values); break;
      default: FAIL() << "a reducer is not given " << dtype_name(dtype);
    }
  }

  std::vector<std::size_t> counts{};

 private:
  template <class T>
  void multiply_by_size(std::span<std::byte> values) {
    counts.push_back(values.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); i += sizeof(T)) {
      T value;
      std::memcpy(&value, &values[i], sizeof value);
      value *= 4;
      std::memcpy(&values[i], &value, sizeof value);
    }
  }
};

TEST(AllReduceKernel, AllValuesOfAnOpAreOneMessage) {
  Graph graph;
  const Output a = placeholder(graph, DType::Float, {2}, "a");
  const Output b = placeholder(graph, DType::Float, {2, 2}, "b");
  const auto ranks = std::make_shared<Copies>();
  const std::vector<Output> sums = all_reduce({a, b}, Reduction::Sum, ranks);
  EigenSession session(graph);
  for (int run = 1; run <= 3; ++run) {
    const auto [x, y] =
        session.run({sums[0], sums[1]}, {{a, Tensor::of<float>({1, 2})}, {b, Tensor::of<float>({3, 4, 5, 6}, {2, 2})}});
    EXPECT_EQ(x, Tensor::of<float>({4, 8}));
    EXPECT_EQ(y, Tensor::of<float>({12, 16, 20, 24}, {2, 2}));
  }
  EXPECT_EQ(ranks->counts, (std::vector<std::size_t>{6, 6, 6}));
}

TEST(AllReduceKernel, AMeanOfEqualValuesIsTheValueAndTheInputStays) {
  Graph graph;
  const auto ranks = std::make_shared<Copies>();
  const Output a = constant(graph, Tensor::of<double>({1, 2, 3}));
  const Output mean = all_reduce({a}, Reduction::Mean, ranks)[0];
  const Output sum = all_reduce({a}, Reduction::Sum, ranks)[0];
  EigenSession session(graph);
  for (int run = 1; run <= 2; ++run) {
    const auto [x, y, z] = session.run({a, mean, sum});
    EXPECT_EQ(x, Tensor::of<double>({1, 2, 3}));
    EXPECT_EQ(y, Tensor::of<double>({1, 2, 3}));
    EXPECT_EQ(z, Tensor::of<double>({4, 8, 12}));
  }
  EXPECT_EQ(ranks->counts.size(), 4U);  // also of constants: nothing is computed ahead
}

TEST(AllReduceKernel, WholeNumbersAreAddedUp) {
  Graph graph;
  const auto ranks = std::make_shared<Copies>();
  const Output a = all_reduce({constant(graph, Tensor::of<std::int32_t>({7}))}, Reduction::Sum, ranks)[0];
  const Output b = all_reduce({constant(graph, Tensor(std::int64_t{1} << 40))}, Reduction::Sum, ranks)[0];
  EigenSession session(graph);
  EXPECT_EQ(session.run(a), Tensor::of<std::int32_t>({28}));
  EXPECT_EQ(session.run(b), Tensor(std::int64_t{1} << 42));
}

TEST(AllReduceKernel, TheGradientOfASumOfAllRanksCountsEachRanksLoss) {
  Graph graph;
  const Output a = placeholder(graph, DType::Float, {2}, "a");
  const Output sum = all_reduce({a}, Reduction::Sum, std::make_shared<Copies>())[0];
  const Output grad = gradients(multiply(sum, sum), {a})[0];
  EigenSession session(graph);
  EXPECT_EQ(session.run(grad, {{a, Tensor::of<float>({1, -2})}}), Tensor::of<float>({32, -64}));  // 4 * 2 * (4 * a)
}

/// The other one of two ranks always has one element.
struct OneElementElsewhere final : AllReducer {
  [[nodiscard]] int size() const noexcept override { return 2; }
  void add_up(std::span<std::byte> values, DType dtype) override {
    ASSERT_EQ(dtype, DType::Int64) << "the values themselves are not sent";
    std::int64_t count = 0;
    std::memcpy(&count, values.data(), sizeof count);
    count += 1;
    std::memcpy(values.data(), &count, sizeof count);
  }
};

TEST(AllReduceKernel, AValueOfAnotherSizeThanElsewhereIsAnError) {
  Graph graph;
  const Output a = placeholder(graph, DType::Float, {kUnknownDim}, "a");
  const Output sum = all_reduce({a}, Reduction::Sum, std::make_shared<OneElementElsewhere>())[0];
  EigenSession session(graph);
  try {
    static_cast<void>(session.run(sum, {{a, Tensor::of<float>({1, 2})}}));
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("value 0 has 2 elements on this rank, and 3 on all 2 ranks"));
  }
}

TEST(AllReduceKernel, ANodeOfAFileHasNoRanks) {
  Graph graph;
  const Output a = constant(graph, Tensor(1.0F));
  const Operation op = graph.add({.type = "TrainhookAllReduce",
                                  .name = "reduced",
                                  .inputs = {a},
                                  .attrs = {{"N", std::int64_t{1}},
                                            {"T", DType::Float},
                                            {"reduction", std::string("sum")},
                                            {"reducer", std::int64_t{0}}},
                                  .outputs = {{DType::Float, {}}}});
  EigenSession session(graph);
  try {
    static_cast<void>(session.run(op.output()));
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("node 'reduced' (TrainhookAllReduce) has no connection to other ranks"));
  }
}

}  // namespace
}  // namespace trainhook
