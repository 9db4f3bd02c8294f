// SPDX-License-Identifier: Apache-2.0
/// @file
/// Calls of the program's functions: what they throw is passed on, and says whose it was in its text and in a log line.
#include <trainhook/core/user_call.hpp>

#include <exception>
#include <stdexcept>
#include <string>

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

/// Errors that a program defines.
struct OwnError : InternalError {
  using InternalError::InternalError;
  int kept = 7;
};
struct OwnRangeError : std::range_error {
  using std::range_error::range_error;
  int kept = 8;
};

/// The text of the `Type` that the function throws.
template <class Type>
std::string text_of(const Type& error) {
  try {
    call_of_user("the function of value", "loss", [&] { throw error; });
  } catch (const Type& caught) {
    if constexpr (requires { caught.kept; }) { EXPECT_EQ(caught.kept, error.kept); }
    return caught.what();
  }
  return "nothing";
}

TEST(UserCall, PutsTheNameInFrontOfTheTextOfWhatItPassesOn) {
  const LogLines log;
  const std::string text = "the function of value 'loss' threw: it broke";
  EXPECT_EQ(text_of(DataLossError("it broke")), text);
  EXPECT_EQ(text_of(OwnError("it broke")), text);
  EXPECT_EQ(text_of(OwnRangeError("it broke")), text);
  EXPECT_EQ(text_of(std::runtime_error("it broke")), text);
  EXPECT_EQ(text_of(std::out_of_range("it broke")), text);
  EXPECT_EQ(text_of(std::runtime_error(text)), text);  // one that is kept and thrown once more
  EXPECT_EQ(text_of(OutOfRangeError("the end")), "the end");
}

TEST(UserCall, IsSilentAboutTheEndOfTheInputAndTheLossOfASession) {
  const LogLines log;
  EXPECT_THROW(call_of_user("f", "x", [] { throw OutOfRangeError("end"); }), OutOfRangeError);
  EXPECT_THROW(call_of_user("f", "x", [] { throw AbortedError("lost"); }), AbortedError);
  EXPECT_THROW(call_of_user("f", "x", [] { throw UnavailableError("lost"); }), UnavailableError);
  EXPECT_THAT(log.lines, IsEmpty());
  EXPECT_FALSE(detail::is_failure(nullptr));
}

TEST(FirstError, IsThrownOnceEverythingIsDone) {
  std::string done;
  detail::FirstError error;
  EXPECT_NO_THROW(error.rethrow());
  error.keep(nullptr);
  error.attempt([&] { done += "a"; });
  error.attempt([&] { throw OutOfRangeError("the first"); });
  error.attempt([&] {
    done += "b";
    throw InternalError("the second");
  });
  error.keep(std::make_exception_ptr(Own()));
  EXPECT_EQ(done, "ab");
  EXPECT_THROW(error.rethrow(), OutOfRangeError);
}

}  // namespace
}  // namespace trainhook
