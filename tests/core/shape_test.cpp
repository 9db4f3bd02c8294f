// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes, known and partly known.
#include <trainhook/core/shape.hpp>

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

TEST(Shape, OfRankZeroIsAScalar) {
  const Shape scalar;
  EXPECT_EQ(scalar.rank(), 0u);
  EXPECT_EQ(scalar.num_elements(), 1);
  EXPECT_EQ(scalar.to_string(), "[]");
  EXPECT_EQ(scalar, Shape{});
}

TEST(Shape, CountsElements) {
  EXPECT_EQ((Shape{2, 3, 4}.num_elements()), 24);
  EXPECT_EQ((Shape{2, 0, 4}.num_elements()), 0);
  EXPECT_EQ((Shape{2, 3}.to_string()), "[2,3]");
}

TEST(Shape, IsEqualByRankAndDimensions) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
}

TEST(Shape, RefusesWhatAFileMightClaim) {
  EXPECT_THROW((Shape{2, -1}), InvalidArgumentError);
  EXPECT_THROW((Shape{std::int64_t{1} << 32, std::int64_t{1} << 31}), InvalidArgumentError);
  EXPECT_THROW((Shape{std::int64_t{1} << 32, std::int64_t{1} << 31, 0}), InvalidArgumentError);
  EXPECT_THROW((Shape{0, std::int64_t{1} << 32, std::int64_t{1} << 31}), InvalidArgumentError);  // strides overflow
  EXPECT_EQ((Shape{0, std::int64_t{1} << 62}).num_elements(), 0);
  const std::vector<std::int64_t> nine(9, 1);
  EXPECT_THROW(Shape{std::span(nine)}, InvalidArgumentError);
  EXPECT_EQ(Shape{std::span(nine).first(8)}.rank(), 8u);
}

TEST(PartialShape, MayKnowNothingOrSomethingOrAll) {
  EXPECT_FALSE(PartialShape().has_rank());
  EXPECT_FALSE((PartialShape{kUnknownDim, 3}.is_fully_known()));
  EXPECT_TRUE((PartialShape{2, 3}.is_fully_known()));
  EXPECT_EQ(PartialShape().to_string(), "<unknown>");
  EXPECT_EQ((PartialShape{kUnknownDim, 3}.to_string()), "[?,3]");
  EXPECT_NE(PartialShape(), PartialShape{Shape{}});
}

TEST(PartialShape, BecomesAShapeOnceAllIsKnown) {
  EXPECT_EQ((PartialShape{2, 3}.known()), (Shape{2, 3}));
  EXPECT_THROW((void)(PartialShape{kUnknownDim}.known()), FailedPreconditionError);
  EXPECT_THROW((void)PartialShape().known(), FailedPreconditionError);
  EXPECT_THROW(PartialShape{-2}, InvalidArgumentError);
}

TEST(PartialShape, TakesWhatDoesNotContradictIt) {
  const PartialShape batch{kUnknownDim, 3};
  EXPECT_TRUE(batch.compatible_with(Shape{128, 3}));
  EXPECT_TRUE(batch.compatible_with(PartialShape{2, kUnknownDim}));
  EXPECT_TRUE(batch.compatible_with(PartialShape()));
  EXPECT_TRUE(PartialShape().compatible_with(batch));
  EXPECT_FALSE(batch.compatible_with(Shape{128, 4}));
  EXPECT_FALSE(batch.compatible_with(Shape{3}));
}

}  // namespace
}  // namespace trainhook
