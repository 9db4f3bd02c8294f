// SPDX-License-Identifier: Apache-2.0
/// @file
/// Errors on their way to other ranks.
#include <trainhook/ranks/rank_failure.hpp>

#include <exception>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace trainhook::detail {
namespace {

template <class Thrown>
RankFailure sent(const Thrown& error) {
  return parse_message<RankFailure>(message_bytes(failure_of(std::make_exception_ptr(error))), "a failure");
}

TEST(RankFailure, KeepsCodeAndMessage) {
  const RankFailure failure = sent(DataLossError("a torn record"));
  EXPECT_EQ(failure.code, ErrorCode::DataLoss);
  EXPECT_EQ(failure.message, "a torn record");
  EXPECT_EQ(sent(std::runtime_error("x")).code, ErrorCode::Unknown);
}

TEST(RankFailure, IsNeitherTheEndOfInputNorALostSessionElsewhere) {
  EXPECT_EQ(sent(OutOfRangeError("end")).code, ErrorCode::FailedPrecondition);
  EXPECT_EQ(sent(AbortedError("lost")).code, ErrorCode::FailedPrecondition);
  EXPECT_EQ(sent(UnavailableError("away")).code, ErrorCode::FailedPrecondition);
}

TEST(RankFailure, HasAMessageWithoutAnError) { EXPECT_FALSE(failure_of(nullptr).message.empty()); }

}  // namespace
}  // namespace trainhook::detail
