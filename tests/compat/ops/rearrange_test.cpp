// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of ops that put elements elsewhere.
#include <trainhook/compat/ops/rearrange.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/ops.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

Output add(std::string_view type, const std::vector<Output>& inputs, const Attrs& attrs = {}) {
  return detail::add_op(*find_op_def(type), {}, inputs, attrs);
}

TEST(RearrangeOps, ShapesFollowFromConstants) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {-1, 3, 8, 4}, "x");
  const Output block = constant(graph, Tensor::of<std::int32_t>({2, 4}));
  const Output around = constant(graph, Tensor::of<std::int32_t>({1, 0, 0, 0}, {2, 2}));
  EXPECT_EQ(add("SpaceToBatchND", {x, block, around}).shape(), PartialShape({-1, 2, 2, 4}));
  EXPECT_EQ(add("DepthToSpace", {x}, {{"block_size", std::int64_t{2}}}).shape(), PartialShape({-1, 6, 16, 1}));
  testing::expect_error({"SpaceToDepth", "block_size of 2"}, [&] {
    add("SpaceToDepth", {x}, {{"block_size", std::int64_t{2}}});
  });
  testing::expect_error({"MirrorPad", "mode is 'EDGE', not one of REFLECT,SYMMETRIC"}, [&] {
    add("MirrorPad", {x, placeholder(graph, DType::Int32, {4, 2})}, {{"mode", std::string("EDGE")}});
  });
}

constexpr std::int64_t kHuge = INT64_MAX / 2 + 1;

TEST(RearrangeOps, AnExtentThatOverflowsIsAnError) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {6, 3, 8, 4}, "x");
  const Output blocks = constant(graph, Tensor::of<std::int64_t>({kHuge, 1}));
  const Output none = constant(graph, Tensor::of<std::int64_t>({0, 0, 0, 0}, {2, 2}));
  const Output much = constant(graph, Tensor::of<std::int64_t>({kHuge, kHuge, 0, 0}, {2, 2}));
  const Output one = constant(graph, Tensor::of<std::int64_t>({1, 1}));
  testing::expect_error({"BatchToSpaceND", "does not go with"}, [&] { add("BatchToSpaceND", {x, blocks, none}); });
  testing::expect_error({"BatchToSpaceND", "does not go with"}, [&] { add("BatchToSpaceND", {x, one, much}); });
  testing::expect_error({"SpaceToBatchND", "does not go with"}, [&] { add("SpaceToBatchND", {x, one, much}); });
  const Output empty = placeholder(graph, DType::Float, {6, 0, 8, 4}, "empty");
  testing::expect_error({"SpaceToBatchND", "does not go with"}, [&] { add("SpaceToBatchND", {empty, blocks, none}); });

  const Attrs mode{{"mode", std::string("SYMMETRIC")}};
  const Output row = placeholder(graph, DType::Float, {3}, "row");
  const Output wide = constant(graph, Tensor::of<std::int64_t>({kHuge, kHuge}, {1, 2}));
  testing::expect_error({"MirrorPad", "do not go with"}, [&] { add("MirrorPad", {row, wide}, mode); });
  testing::expect_error({"MirrorPadGrad", "do not go with"}, [&] { add("MirrorPadGrad", {row, wide}, mode); });
}

TEST(RearrangeOps, TheGradientOfASequenceIsTurnedBack) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {2, 3}, "x");
  const Output y =
      add("ReverseSequence", {x, constant(graph, Tensor::of<std::int64_t>({1, 3}))}, {{"seq_dim", std::int64_t{1}}});
  EXPECT_EQ(gradients(y, {x})[0].node().type(), "ReverseSequence");
}

}  // namespace
}  // namespace trainhook
