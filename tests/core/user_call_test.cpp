// SPDX-License-Identifier: Apache-2.0
/// @file
/// Calls of the program's functions: what they throw is passed on as it is, and a log line says whose it was.
#include <trainhook/core/user_call.hpp>

#include <exception>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/log_lines.hpp>

namespace trainhook {
namespace {

using detail::call_of_user;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::LogLines;

/// An error that is no standard exception, and whose address tells whether it was copied.
struct Own {
  const void* self = nullptr;
};

TEST(UserCall, ReturnsWhatTheFunctionReturns) {
  const LogLines log;
  int value = 3;
  int& reference = call_of_user("f", "x", [&]() -> int& { return value; });
  EXPECT_EQ(&reference, &value);
  EXPECT_THAT(log.lines, IsEmpty());
}

TEST(UserCall, PassesTheSameObjectOnAndLogsTheName) {
  const LogLines log;
  const Own* thrown = nullptr;
  try {
    call_of_user("the function of value", "loss", [&] {
      try {
        throw Own();
      } catch (Own& own) {
        thrown = &own;
        throw;
      }
    });
    FAIL();
  } catch (const Own& own) { EXPECT_EQ(&own, thrown); }
  EXPECT_THROW(call_of_user("the function of map", {}, [] { throw std::range_error("too far"); }), std::range_error);
  EXPECT_THAT(log.lines, ElementsAre("E the function of value 'loss' threw: an exception that is not a std::exception",
                                     "E the function of map threw: too far"));
}

TEST(UserCall, IsSilentAboutTheEndOfTheInputAndTheLossOfASession) {
  const LogLines log;
  EXPECT_THROW(call_of_user("f", "x", [] { throw OutOfRangeError("end"); }), OutOfRangeError);
  EXPECT_THROW(call_of_user("f", "x", [] { throw AbortedError("lost"); }), AbortedError);
  EXPECT_THROW(call_of_user("f", "x", [] { throw UnavailableError("lost"); }), UnavailableError);
  EXPECT_THAT(log.lines, IsEmpty());
  EXPECT_FALSE(detail::is_failure(nullptr));
}

}  // namespace
}  // namespace trainhook
