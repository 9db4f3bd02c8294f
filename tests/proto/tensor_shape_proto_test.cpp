// SPDX-License-Identifier: Apache-2.0
/// @file
/// The dimensions of a shape in protobuf's encoding.
#include <trainhook/proto/tensor_shape_proto.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "hex.hpp"

namespace trainhook::detail {
namespace {

using support::bytes;
using Dims = std::vector<std::int64_t>;

TEST(TensorShapeProto, LeavesOutASizeOfZero) {
  const std::string text = message_bytes(shape_message(Dims{3, 0, 300}));
  EXPECT_EQ(text, bytes("1202 0803  1200  1203 08ac02"));
  EXPECT_EQ(dims_of(parse_message<TensorShapeMessage>(text, "shape")), (Dims{3, 0, 300}));
}

TEST(TensorShapeProto, GivesNegativeSizesAsTheyAreAndPassesOverNamesAndTheUnknownRank) {
  const std::string text = bytes("1801  120e 08ffffffffffffffffff01 1201 78");
  EXPECT_EQ(dims_of(parse_message<TensorShapeMessage>(text, "shape")), Dims{-1});
}

TEST(TensorShapeProto, CutOffIsDataLoss) {
  const std::string text = bytes("1202 08");
  EXPECT_THROW((void)dims_of(parse_message<TensorShapeMessage>(text, "shape")), DataLossError);
}

}  // namespace
}  // namespace trainhook::detail
