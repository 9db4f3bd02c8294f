// SPDX-License-Identifier: Apache-2.0
/// @file
/// Errors: codes, types and messages.
#include <trainhook/core/error.hpp>

#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

template <class Thrown>
std::exception_ptr pointer_to(Thrown error) {
  return std::make_exception_ptr(error);
}

TEST(Error, IsCaughtByItsOwnTypeByTheFamilyAndAsARuntimeError) {
  EXPECT_THROW(throw OutOfRangeError("end of input"), OutOfRangeError);
  EXPECT_THROW(throw OutOfRangeError("end of input"), Error);
  EXPECT_THROW(throw OutOfRangeError("end of input"), std::runtime_error);
}

TEST(Error, OfOneCodeIsNotCaughtAsAnother) {
  try {
    throw AbortedError("preempted");
  } catch (const UnavailableError&) { FAIL() << "caught as unavailable"; } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Aborted);
  }
}

TEST(Error, MessageIsMadeFromAFormatString) {
  const DataLossError error("bad checksum in {} at byte {}", "model.ckpt-3", 17);
  EXPECT_STREQ(error.what(), "bad checksum in model.ckpt-3 at byte 17");
}

TEST(Error, PrintsCodeAndMessage) {
  EXPECT_EQ(fmt::format("{}", DataLossError("bad checksum")), "DataLoss: bad checksum");
  const NotFoundError error("no file");
  EXPECT_EQ(fmt::format("{}", static_cast<const Error&>(error)), "NotFound: no file");
}

TEST(Error, CodesHaveTensorFlowsNumbers) {
  EXPECT_EQ(static_cast<int>(ErrorCode::Cancelled), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::InvalidArgument), 3);
  EXPECT_EQ(static_cast<int>(ErrorCode::NotFound), 5);
  EXPECT_EQ(static_cast<int>(ErrorCode::FailedPrecondition), 9);
  EXPECT_EQ(static_cast<int>(ErrorCode::OutOfRange), 11);
  EXPECT_EQ(static_cast<int>(ErrorCode::DataLoss), 15);
}

TEST(Error, EveryCodeHasAUniqueName) {
  std::set<std::string_view> names;
  for (int code = 1; code <= 15; ++code) names.insert(error_code_name(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), 15u);
  EXPECT_EQ(error_code_name(static_cast<ErrorCode>(99)), "Unknown");
}

TEST(Error, OfACodeKnownOnlyAtRunTimeIsCaughtByTypeToo) {
  EXPECT_THROW(throw_error(ErrorCode::NotFound, "no file"), NotFoundError);
  for (int number = 1; number <= 15; ++number) {
    const auto code = static_cast<ErrorCode>(number);
    try {
      throw_error(code, "as it is");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_STREQ(error.what(), "as it is");
      EXPECT_NE(typeid(error), typeid(Error));
    }
  }
}

TEST(Describe, SaysTheCodeOfOurErrorsAndTheWordsOfOthers) {
  EXPECT_EQ(describe(pointer_to(NotFoundError("no file 'a'"))), "NotFound: no file 'a'");
  EXPECT_EQ(describe(pointer_to(std::logic_error("odd"))), "odd");
  EXPECT_EQ(describe(pointer_to(42)), "an exception that is not a std::exception");
  EXPECT_EQ(describe(nullptr), "no error");
}

}  // namespace
}  // namespace trainhook
