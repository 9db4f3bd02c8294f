// SPDX-License-Identifier: Apache-2.0
/// @file
/// Regions of tensors: their text, what they share, and copying it.
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>

#include <cstddef>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

TEST(TensorSlice, HasTensorFlowsText) {
  for (const char* text : {"", "-", "0,5", "3,2:-", "-:-:7,1"}) EXPECT_EQ(TensorSlice::parse(text).to_string(), text);
  EXPECT_EQ(TensorSlice::parse("3,2:-"), (TensorSlice{{3, 2}, {}}));
  EXPECT_NE(TensorSlice::parse("0,5"), TensorSlice::parse("-"));
  EXPECT_EQ(TensorSlice::all_of(3).to_string(), "-:-:-");
}

TEST(TensorSlice, RefusesOtherText) {
  for (const char* text :
       {":", "-:", ":-", "3", "3,", ",3", "3,2,1", "-1,2", "1,-2", "1,0", " 1,2", "1,2 ", "1, 2", "--", "+1,2", "a,b",
        "99999999999999999999,1", "9223372036854775807,1", "-:-:-:-:-:-:-:-:-"}) {
    EXPECT_THROW(static_cast<void>(TensorSlice::parse(text)), InvalidArgumentError) << text;
  }
}

TEST(TensorSlice, IsCheckedAgainstAShape) {
  const TensorSlice slice{{3, 2}, {}};
  EXPECT_EQ(slice.shape_in(Shape{5, 4}), (Shape{2, 4}));
  EXPECT_EQ(slice.within(Shape{5, 4}), (TensorSlice{{3, 2}, {0, 4}}));
  EXPECT_THROW(static_cast<void>(slice.shape_in(Shape{4, 4})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(slice.shape_in(Shape{5})), InvalidArgumentError);
  EXPECT_EQ(TensorSlice().shape_in(Shape{}), Shape{});
  EXPECT_THROW((TensorSlice{{1, TensorSlice::kFull}}), InvalidArgumentError);
  EXPECT_THROW((TensorSlice{{-1, 2}}), InvalidArgumentError);
  EXPECT_THROW((TensorSlice{{0, 0}}), InvalidArgumentError);
}

TEST(TensorSlice, OverlapsAreFoundAndOnlyThose) {
  std::vector<TensorSlice> grid;
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) grid.push_back({{2 * i, 2}, {3 * j, 3}});
  }
  EXPECT_FALSE(detail::Regions(grid).find_overlap());
  for (std::size_t i = 0; i < 64; ++i) {
    std::vector<TensorSlice> changed = grid;
    changed[i] = {{grid[i][0].start, 2}, {grid[i][1].start + 1, 3}};
    EXPECT_EQ(detail::Regions(changed).find_overlap().has_value(), i % 8 != 7) << i;
  }
  EXPECT_TRUE(detail::Regions(std::vector<TensorSlice>(2)).find_overlap());
  EXPECT_FALSE(detail::Regions(std::vector<TensorSlice>(1)).find_overlap());
  EXPECT_FALSE(detail::Regions({}).find_overlap());
}

TEST(TensorSlice, TheRegionsThatMeetAnotherAreThoseThatShareAnElementWithIt) {
  std::mt19937 random(5);
  const auto extent = [&random](std::int64_t size) {
    const std::int64_t start = std::uniform_int_distribution<std::int64_t>(0, size - 1)(random);
    return TensorSlice::Extent{start, std::uniform_int_distribution<std::int64_t>(1, size - start)(random)};
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<TensorSlice> slices;
    for (int i = 0; i < 40; ++i) slices.push_back({extent(20), extent(3)});
    const detail::Regions regions(slices);
    const TensorSlice wanted{extent(20), extent(3)};
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < slices.size(); ++i)
      if (detail::intersection(slices[i], wanted)) expected.push_back(i);
    EXPECT_THAT(regions.meeting(wanted), ::testing::UnorderedElementsAreArray(expected));
  }
}

TEST(TensorSlice, CopiesWhatTwoRegionsShareElementByElement) {
  std::mt19937 random(1);
  const Shape full{3, 4, 2, 5};
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  const auto region = [&] {
    std::vector<TensorSlice::Extent> extents;
    for (const std::int64_t dim : full.dims()) {
      const std::int64_t start = draw(0, 1) == 0 ? 0 : draw(0, dim - 1);
      extents.push_back({start, draw(0, 1) == 0 ? dim - start : draw(1, dim - start)});
    }
    return TensorSlice(extents);
  };
  const auto number = [&](const TensorSlice& of, std::size_t place) {  // of an element of a region in the whole tensor
    std::array<std::int64_t, 4> index{};
    auto rest = static_cast<std::int64_t>(place);
    for (std::size_t axis = 4; axis-- > 0; rest /= of[axis].length)
      index[axis] = of[axis].start + rest % of[axis].length;
    return ((index[0] * 4 + index[1]) * 2 + index[2]) * 5 + index[3];
  };
  for (int round = 0; round < 300; ++round) {
    const TensorSlice from = region();
    const TensorSlice to = region();
    std::vector<std::int64_t> source(static_cast<std::size_t>(from.shape_in(full).num_elements()));
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = number(from, i);
    std::vector<std::int64_t> target(static_cast<std::size_t>(to.shape_in(full).num_elements()), -1);
    detail::copy_shared<std::int64_t>(source, from, target, to, 1);
    for (std::size_t i = 0; i < target.size(); ++i) {
      const bool shared = std::ranges::find(source, number(to, i)) != source.end();
      ASSERT_EQ(target[i], shared ? number(to, i) : -1) << from.to_string() << " to " << to.to_string() << " at " << i;
    }
  }
}

}  // namespace
}  // namespace trainhook
