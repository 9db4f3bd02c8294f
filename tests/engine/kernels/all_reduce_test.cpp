// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of reductions over the processes of a job, with a reducer that takes the other ranks for copies of this
/// one.
#include <trainhook/engine/kernels.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/ops/all_reduce.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook {
namespace {

/// A sum that is computed when it is finished, by a reducer of the test.
class LateSum final : public BackgroundSum {
 public:
  LateSum(AllReducer& reducer, std::string& calls) : reducer_(reducer), calls_(calls) {}
  void start(std::span<const std::span<const std::byte>> parts, DType dtype) override {
    values_.clear();
    for (const std::span<const std::byte> part : parts) values_.insert(values_.end(), part.begin(), part.end());
    dtype_ = dtype;
    calls_ += "start ";
  }
  [[nodiscard]] std::span<const std::byte> finish() override {
    reducer_.add_up(values_, dtype_);
    calls_ += "finish ";
    return values_;
  }

 private:
  AllReducer& reducer_;
  std::string& calls_;
  std::vector<std::byte> values_;
  DType dtype_{};
};

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

  [[nodiscard]] std::unique_ptr<BackgroundSum> make_background_sum() override {
    calls += "make ";
    return std::make_unique<LateSum>(*this, calls);
  }

  std::vector<std::size_t> counts{};
  std::string calls{};  // of background sums

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

TEST(AllReduceKernel, TheHalvesOfAReductionGiveWhatTheWholeGivesInTheSameMemoryEachTime) {
  Graph graph;
  const auto ranks = std::make_shared<Copies>();
  const Output a = placeholder(graph, DType::Float, {2}, "a");
  const Output b = placeholder(graph, DType::Float, Shape{}, "b");
  const auto sum = detail::split_all_reduce({a, b}, Reduction::Sum, ranks, std::nullopt);
  const auto mean = detail::split_all_reduce({a}, Reduction::Mean, ranks, sum);
  EigenSession session(graph);
  for (const float factor : {1.0F, 3.0F}) {
    const auto [x, y, z] = session.run({sum.finish.output(0), sum.finish.output(1), mean.finish.output()},
                                       {{a, Tensor::of<float>({1, 2 * factor})}, {b, Tensor(factor)}});
    EXPECT_EQ(x, Tensor::of<float>({4, 8 * factor}));
    EXPECT_EQ(y, Tensor(4 * factor));
    EXPECT_EQ(z, Tensor::of<float>({1, 2 * factor}));
  }
  EXPECT_EQ(ranks->calls, "make start make start finish finish start start finish finish ");
  EXPECT_EQ(ranks->counts, (std::vector<std::size_t>{3, 2, 3, 2}));
}

TEST(AllReduceKernel, ARunOfTheSecondReductionFinishesTheFirst) {
  Graph graph;
  const auto ranks = std::make_shared<Copies>();
  const Output a = constant(graph, Tensor(std::int32_t{5}));
  const auto first = detail::split_all_reduce({a}, Reduction::Sum, ranks, std::nullopt);
  const auto second = detail::split_all_reduce({a}, Reduction::Sum, ranks, first);
  EigenSession session(graph);
  EXPECT_EQ(session.run(second.finish.output()), Tensor(std::int32_t{20}));
  EXPECT_EQ(ranks->calls, "make start make start finish finish ");
}

TEST(AllReduceKernel, ASecondSessionHasItsOwnSums) {
  Graph graph;
  const auto ranks = std::make_shared<Copies>();
  const auto split = detail::split_all_reduce({constant(graph, Tensor(2.0))}, Reduction::Sum, ranks, std::nullopt);
  for (int i = 0; i < 2; ++i) {
    EigenSession session(graph);
    EXPECT_EQ(session.run(split.finish.output()), Tensor(8.0));
  }
  EXPECT_EQ(ranks->calls, "make start finish make start finish ");
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
  [[nodiscard]] std::unique_ptr<BackgroundSum> make_background_sum() override {
    ADD_FAILURE() << "the values themselves are not sent";
    return nullptr;
  }
};

TEST(AllReduceKernel, AValueOfAnotherSizeThanElsewhereIsAnError) {
  Graph graph;
  const Output a = placeholder(graph, DType::Float, {kUnknownDim}, "a");
  const auto ranks = std::make_shared<OneElementElsewhere>();
  const Output sum = all_reduce({a}, Reduction::Sum, ranks)[0];
  const auto split = detail::split_all_reduce({a}, Reduction::Sum, ranks, std::nullopt);
  EigenSession session(graph);
  for (const Output& result : {sum, split.finish.output()}) {
    try {
      static_cast<void>(session.run(result, {{a, Tensor::of<float>({1, 2})}}));
      FAIL();
    } catch (const InvalidArgumentError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("value 0 has 2 elements on this rank, and 3 on all 2 ranks"));
    }
  }
}

/// Adds a node as an imported graph has it: its attribute names a reducer that is not there.
Operation add_from_file(Graph& graph, const std::string& type, Output input, OutputSpec output) {
  return graph.add({.type = type,
                    .name = "reduced",
                    .inputs = {input},
                    .attrs = {{"N", std::int64_t{1}},
                              {"T", DType::Float},
                              {"reduction", std::string("sum")},
                              {"reducer", std::int64_t{0}}},
                    .outputs = {std::move(output)}});
}

TEST(AllReduceKernel, ANodeOfAFileHasNoRanks) {
  for (const std::string type : {"TrainhookAllReduce", "TrainhookAllReduceStart"}) {
    Graph graph;
    const DType dtype = type == "TrainhookAllReduce" ? DType::Float : DType::Invalid;
    const Operation op = add_from_file(graph, type, constant(graph, Tensor(1.0F)), {dtype, Shape{}});
    EigenSession session(graph);
    try {
      session.run(op);
      FAIL();
    } catch (const FailedPreconditionError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("node 'reduced' (" + type + ") has no connection to other ranks"));
    }
  }
}

TEST(AllReduceKernel, ASecondHalfOfAFileMustFitTheFirst) {
  Graph graph;
  const auto ranks = std::make_shared<Copies>();
  const Output value = constant(graph, Tensor(1.0));
  const auto split = detail::split_all_reduce({value}, Reduction::Sum, ranks, std::nullopt);
  const Operation other =
      add_from_file(graph, "TrainhookAllReduceFinish", split.start.output(), {DType::Float, Shape{}});
  const Operation mixed = graph.add({.type = "TrainhookAllReduceStart",
                                     .name = "mixed",
                                     .inputs = {constant(graph, Tensor(1.0F)), value},
                                     .attrs = {{"reducer", std::int64_t{0}}},
                                     .outputs = {{DType::Invalid, Shape{}}}});
  const Operation of_mixed = graph.add({.type = "TrainhookAllReduceFinish",
                                        .name = "of_mixed",
                                        .inputs = {mixed.output()},
                                        .attrs = {{"T", DType::Double}, {"reduction", std::string("sum")}},
                                        .outputs = {{DType::Double, Shape{}}, {DType::Double, Shape{}}}});
  const Operation none = graph.add({.type = "TrainhookAllReduceFinish", .name = "none", .inputs = {value}});
  EigenSession session(graph);
  EXPECT_THROW(session.run(other), InvalidArgumentError);
  EXPECT_THROW(session.run(of_mixed), InvalidArgumentError);
  EXPECT_THROW(session.run(none), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
