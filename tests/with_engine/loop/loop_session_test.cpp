// SPDX-License-Identifier: Apache-2.0
/// @file
/// A loop whose graph has nodes that compute.
#include <trainhook/loop/loop_session.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook {
namespace {

TEST(LoopSession, SaysWhatItCannotCompute) {
  LoopSession loop;
  const Output a = loop.value("a", [] { return 1.0F; });
  const Output product = multiply(a, a, "product");
  EXPECT_THAT([&] { (void)loop.run(product); },
              ::testing::ThrowsMessage<UnimplementedError>(::testing::StrEq(
                  "LoopSession cannot compute 'product:0' (Mul): compute it in the loop and register it with value(), "
                  "or use an engine for graphs")));
  Graph elsewhere;
  const Output foreign = placeholder(elsewhere, DType::Float);
  EXPECT_THROW((void)loop.run(foreign), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
