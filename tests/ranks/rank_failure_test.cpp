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
std::string sent(const Thrown& error) {
  return failure_bytes(std::make_exception_ptr(error));
}

TEST(RankFailure, KeepsCodeAndMessage) {
  const std::string bytes = sent(DataLossError("a torn record"));
  EXPECT_EQ(failure_code(bytes), ErrorCode::DataLoss);
  EXPECT_EQ(failure_message(bytes), "a torn record");
  EXPECT_EQ(failure_code(sent(std::runtime_error("x"))), ErrorCode::Unknown);
}

TEST(RankFailure, IsNeitherTheEndOfInputNorALostSessionElsewhere) {
  EXPECT_EQ(failure_code(sent(OutOfRangeError("end"))), ErrorCode::FailedPrecondition);
  EXPECT_EQ(failure_code(sent(AbortedError("lost"))), ErrorCode::FailedPrecondition);
  EXPECT_EQ(failure_code(sent(UnavailableError("away"))), ErrorCode::FailedPrecondition);
}

TEST(RankFailure, HasAMessageWithoutAnError) { EXPECT_FALSE(failure_message(failure_bytes(nullptr)).empty()); }

}  // namespace
}  // namespace trainhook::detail
