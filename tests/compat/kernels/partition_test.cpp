// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels of partitions, buckets, counts of equal elements, sparse and accidental hits.
#include <trainhook/compat/kernels.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

std::vector<Tensor> run(const std::string& type, const std::vector<Tensor>& inputs, const Attrs& attrs,
                        const std::vector<DType>& outputs) {
  return test::run_op(kernels::partition(), type, inputs, attrs, outputs);
}

TEST(PartitionKernels, RowsGoToTheirPartInOrder) {
  const Tensor data = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  const auto parts = [&](const Tensor& numbers) {
    return run("DynamicPartition", {data, numbers}, {{"T", DType::Float}, {"num_partitions", std::int64_t{2}}},
               {DType::Float, DType::Float});
  };
  const std::vector<Tensor> two = parts(Tensor::of<std::int32_t>({1, 0, 1}));
  EXPECT_EQ(two[0], Tensor::of<float>({3, 4}, {1, 2}));
  EXPECT_EQ(two[1], Tensor::of<float>({1, 2, 5, 6}, {2, 2}));
  EXPECT_EQ(parts(Tensor::of<std::int32_t>({0, 0, 0}))[1].shape(), (Shape{0, 2}));
  EXPECT_THROW(static_cast<void>(parts(Tensor::of<std::int32_t>({0, 2, 0}))), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(parts(Tensor::of<std::int32_t>({0, 0}))), InvalidArgumentError);
}

TEST(PartitionKernels, FindTheBucketOfEachNumberAsTensorFlowDoes) {
  const auto buckets = [](const Tensor& x, const AttrValue& boundaries) {
    return run("Bucketize", {x}, {{"T", x.dtype()}, {"boundaries", boundaries}}, {DType::Int32}).front();
  };
  const std::vector<float> boundaries{0, 0.1F, 10};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(buckets(Tensor::of<float>({-5, 0, 0.1F, 10, 100, kNan, kInfinity, -kInfinity}, {2, 4}), boundaries),
            Tensor::of<std::int32_t>({0, 1, 2, 3, 3, 3, 3, 0}, {2, 4}));
  EXPECT_EQ(buckets(Tensor::of<std::int64_t>({-5, 0, 10, 11}), boundaries), Tensor::of<std::int32_t>({0, 1, 3, 3}));
  EXPECT_EQ(buckets(Tensor::of<double>({0.1}), boundaries), Tensor::of<std::int32_t>({1})) << "0.1F is above 0.1";
  EXPECT_EQ(buckets(Tensor::of<float>({1, 2}), std::vector<float>{1, 1}), Tensor::of<std::int32_t>({2, 2}));
  EXPECT_EQ(buckets(Tensor::of<float>({1}), std::vector<std::int64_t>()), Tensor::of<std::int32_t>({0}));
  EXPECT_THROW(buckets(Tensor::of<float>({1}), std::vector<float>{3, 1}), InvalidArgumentError);
}

TEST(PartitionKernels, FindTheDifferentElementsOfAVector) {
  const auto unique = [](const Tensor& x, DType places) {
    return test::run_op(kernels::partition(), "Unique", {x}, {{"T", x.dtype()}, {"out_idx", places}},
                        std::vector{x.dtype(), places});
  };
  EXPECT_EQ(unique(Tensor::of<std::int32_t>({7, 2, 7, 9, 2}), DType::Int32),
            (std::vector{Tensor::of<std::int32_t>({7, 2, 9}), Tensor::of<std::int32_t>({0, 1, 0, 2, 1})}));
  EXPECT_EQ(unique(Tensor::of<std::string>({"b", "b"}), DType::Int64),
            (std::vector{Tensor::of<std::string>({"b"}), Tensor::of<std::int64_t>({0, 0})}));
  EXPECT_EQ(unique(Tensor::of<std::int32_t>({}), DType::Int32),
            (std::vector{Tensor::of<std::int32_t>({}), Tensor::of<std::int32_t>({})}));
  EXPECT_THROW(unique(Tensor(1), DType::Int32), InvalidArgumentError);
}

TEST(PartitionKernels, FindThousandsOfDifferentElements) {
  constexpr std::int64_t kApart = std::int64_t{1} << 40;
  Tensor x(DType::Int64, {6000});
  Tensor different(DType::Int64, {3000});
  Tensor places(DType::Int32, {6000});
  for (std::int64_t i = 0; i < 6000; ++i) {
    x.mutable_data<std::int64_t>()[static_cast<std::size_t>(i)] = (i % 3000 - 1500) * kApart;
    places.mutable_data<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % 3000);
    different.mutable_data<std::int64_t>()[static_cast<std::size_t>(i % 3000)] = (i % 3000 - 1500) * kApart;
  }
  EXPECT_EQ(test::run_op(kernels::partition(), "Unique", {x}, {{"T", DType::Int64}, {"out_idx", DType::Int32}},
                         std::vector{DType::Int64, DType::Int32}),
            (std::vector{different, places}));
}

TEST(PartitionKernels, FindTheDifferentElementsAlongTheOneAxisOfAVector) {
  const auto unique = [](const Tensor& x, const Tensor& axis) {
    return run("UniqueWithCountsV2", {x, axis}, {{"T", x.dtype()}, {"Taxis", axis.dtype()}, {"out_idx", DType::Int32}},
               {x.dtype(), DType::Int32, DType::Int32});
  };
  const Tensor x = Tensor::of<float>({7, 2, 7});
  for (const Tensor& axis :
       {Tensor::of<std::int64_t>({}), Tensor::of<std::int64_t>({0}), Tensor::of<std::int32_t>({-1})})
    EXPECT_EQ(unique(x, axis), (std::vector{Tensor::of<float>({7, 2}), Tensor::of<std::int32_t>({0, 1, 0}),
                                            Tensor::of<std::int32_t>({2, 1})}));
  EXPECT_THROW(unique(x, Tensor::of<std::int32_t>({1})), InvalidArgumentError);
  EXPECT_THROW(unique(x, Tensor::of<std::int32_t>({0, 0})), InvalidArgumentError);
  EXPECT_THROW(unique(Tensor::of<float>({7}, {1, 1}), Tensor::of<std::int32_t>({0})), UnimplementedError);
}

TEST(PartitionKernels, FindTheElementsThatAnotherVectorLacks) {
  const auto difference = [](const Tensor& x, const Tensor& y) {
    return run("ListDiff", {x, y}, {{"T", x.dtype()}, {"out_idx", DType::Int64}}, {x.dtype(), DType::Int64});
  };
  EXPECT_EQ(difference(Tensor::of<std::int32_t>({3, 1, 4, 1}), Tensor::of<std::int32_t>({9, 3})),
            (std::vector{Tensor::of<std::int32_t>({1, 4, 1}), Tensor::of<std::int64_t>({1, 2, 3})}));
  EXPECT_EQ(difference(Tensor::of<std::string>({"a"}), Tensor::of<std::string>({"a"})),
            (std::vector{Tensor::of<std::string>({}), Tensor::of<std::int64_t>({})}));
  EXPECT_THROW(difference(Tensor(1), Tensor::of<std::int32_t>({1})), InvalidArgumentError);
}

TEST(PartitionKernels, EqualElementsAreCounted) {
  const std::vector<Tensor> unique =
      run("UniqueWithCounts", {Tensor::of<std::int64_t>({5, 3, 5, 5})},
          {{"T", DType::Int64}, {"out_idx", DType::Int32}}, {DType::Int64, DType::Int32, DType::Int32});
  EXPECT_EQ(unique[0], Tensor::of<std::int64_t>({5, 3}));
  EXPECT_EQ(unique[1], Tensor::of<std::int32_t>({0, 1, 0, 0}));
  EXPECT_EQ(unique[2], Tensor::of<std::int32_t>({3, 1}));
}

TEST(PartitionKernels, SparseValuesAreWrittenInOrder) {
  const auto dense = [](const Tensor& indices, const Tensor& values, bool validates) {
    return run("SparseToDense", {indices, Tensor::of<std::int32_t>({2, 3}), values, Tensor(9.0F)},
               {{"T", DType::Float}, {"Tindices", DType::Int32}, {"validate_indices", validates}}, {DType::Float})[0];
  };
  const Tensor indices = Tensor::of<std::int32_t>({0, 1, 1, 2}, {2, 2});
  EXPECT_EQ(dense(indices, Tensor::of<float>({1, 2}), true), Tensor::of<float>({9, 1, 9, 9, 9, 2}, {2, 3}));
  EXPECT_EQ(dense(indices, Tensor(5.0F), true), Tensor::of<float>({9, 5, 9, 9, 9, 5}, {2, 3}));
  const Tensor twice = Tensor::of<std::int32_t>({1, 2, 1, 2}, {2, 2});
  EXPECT_EQ(dense(twice, Tensor::of<float>({1, 2}), false), Tensor::of<float>({9, 9, 9, 9, 9, 2}, {2, 3}));
  EXPECT_THROW(static_cast<void>(dense(twice, Tensor(5.0F), true)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(dense(Tensor::of<std::int32_t>({0, 3}, {1, 2}), Tensor(5.0F), false)),
               InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(dense(indices, Tensor::of<float>({1, 2, 3}), true)), InvalidArgumentError);
}

TEST(PartitionKernels, AScalarIsWrittenOnceHoweverOftenItIsNamed) {
  const Tensor indices(DType::Int32, Shape{std::int64_t{1} << 40, 0});
  const auto dense = [&](bool validates) {
    return run("SparseToDense", {indices, Tensor(DType::Int32, Shape{0}), Tensor(5.0F), Tensor(9.0F)},
               {{"T", DType::Float}, {"Tindices", DType::Int32}, {"validate_indices", validates}}, {DType::Float})[0];
  };
  EXPECT_EQ(dense(false), Tensor(5.0F));
  EXPECT_THROW(static_cast<void>(dense(true)), InvalidArgumentError);
}

TEST(PartitionKernels, AccidentalHitsAreCandidatesAmongTheClasses) {
  const std::vector<Tensor> hits = run(
      "ComputeAccidentalHits", {Tensor::of<std::int64_t>({4, 7, 1, 4}, {2, 2}), Tensor::of<std::int64_t>({7, 2, 4})},
      {{"num_true", std::int64_t{2}}}, {DType::Int32, DType::Int64, DType::Float});
  EXPECT_EQ(hits[0], Tensor::of<std::int32_t>({0, 0, 1}));
  EXPECT_EQ(hits[1], Tensor::of<std::int64_t>({2, 0, 2}));
  EXPECT_EQ(hits[2].data<float>()[0], std::numeric_limits<float>::lowest());
}

TEST(PartitionKernels, ShapesAreBroadcast) {
  const auto both = [](const Tensor& x, const Tensor& y) {
    return run("BroadcastArgs", {x, y}, {{"T", DType::Int32}}, {DType::Int32})[0];
  };
  EXPECT_EQ(both(Tensor::of<std::int32_t>({2, 1, 3}), Tensor::of<std::int32_t>({4, 1})),
            Tensor::of<std::int32_t>({2, 4, 3}));
  EXPECT_THROW(static_cast<void>(both(Tensor::of<std::int32_t>({2}), Tensor::of<std::int32_t>({3}))),
               InvalidArgumentError);
}

TEST(PartitionKernels, SeveralValuesPass) {
  const std::vector<Tensor> in{Tensor::of<float>({1, 2}), Tensor(std::string("a"))};
  EXPECT_EQ(
      run("IdentityN", in, {{"T", std::vector<DType>{DType::Float, DType::String}}}, {DType::Float, DType::String}),
      in);
}

}  // namespace
}  // namespace trainhook
