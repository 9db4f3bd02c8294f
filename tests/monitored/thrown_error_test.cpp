// SPDX-License-Identifier: Apache-2.0
/// @file
/// ThrownError: what it remembers of an error, and how it learns that the error was handled.
#include <trainhook/monitored/thrown_error.hpp>

#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

using detail::ThrownError;

/// An error of a user's own.
struct KernelBroke : InvalidArgumentError {
  using InvalidArgumentError::InvalidArgumentError;
};

/// An exception that is not derived from one of the library's or the standard's.
struct Foreign : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "foreign"; }
};

/// Lets an error pass as a session does.
template <class E>
void pass(ThrownError& thrown, E error) {
  try {
    throw E(std::move(error));
  } catch (...) {
    const std::exception_ptr now = thrown.record(std::current_exception());
    if (now != std::current_exception()) std::rethrow_exception(now);
    throw;
  }
}

/// What it knows in a destructor while `E` unwinds, which is the error that passed.
template <class E>
std::string while_unwinding(E error) {
  struct Session {
    ~Session() {
      thrown.forget_if_handled();
      *seen = describe(thrown.get());
    }
    ThrownError thrown;
    std::string* seen;
  };
  std::string seen;
  try {
    Session session{.thrown = {}, .seen = &seen};
    pass(session.thrown, std::move(error));
  } catch (...) {  // the destructor has been here before
  }
  return seen;
}

/// What it knows when the error was handled.
template <class E>
std::string after_handling(E error) {
  ThrownError thrown;
  try {
    pass(thrown, std::move(error));
  } catch (const std::exception&) {
    thrown.forget_if_past();
    EXPECT_EQ(thrown.get(), std::current_exception()) << "it is being handled";
  }
  thrown.forget_if_handled();
  return describe(thrown.get());
}

TEST(ThrownError, KnowsAnErrorThatUnwinds) {
  EXPECT_EQ(while_unwinding(OutOfRangeError("End of sequence")), "OutOfRange: End of sequence");
  EXPECT_EQ(while_unwinding(DataLossError("torn")), "DataLoss: torn");
  EXPECT_EQ(while_unwinding(KernelBroke("broke")), "InvalidArgument: broke");
}

TEST(ThrownError, ForgetsAnErrorThatWasHandled) {
  EXPECT_EQ(after_handling(OutOfRangeError("End of sequence")), "no error");
  EXPECT_EQ(after_handling(DataLossError("torn")), "no error");
  EXPECT_EQ(after_handling(KernelBroke("broke")), "no error");
}

TEST(ThrownError, FollowsTheStandardLibrarysErrorsAsItsOwn) {
  EXPECT_EQ(while_unwinding(std::runtime_error("broken")), "broken");
  EXPECT_EQ(while_unwinding(std::out_of_range("beyond")), "beyond");
  EXPECT_EQ(while_unwinding(std::bad_alloc()), std::bad_alloc().what());
  EXPECT_EQ(after_handling(std::runtime_error("broken")), "no error");
  EXPECT_EQ(after_handling(std::out_of_range("beyond")), "no error");
  EXPECT_EQ(after_handling(std::bad_alloc()), "no error");
}

TEST(ThrownError, NeverBlamesAForeignErrorThatMayHaveBeenHandled) {
  EXPECT_EQ(after_handling(Foreign()), "no error");
  EXPECT_EQ(while_unwinding(Foreign()), "no error") << "nothing tells that it was not";
}

TEST(ThrownError, ForgetsAForeignErrorAtTheNextCall) {
  ThrownError thrown;
  EXPECT_THROW(pass(thrown, Foreign()), Foreign);
  EXPECT_NE(thrown.get(), nullptr);
  thrown.forget_if_past();
  EXPECT_EQ(thrown.get(), nullptr);
}

TEST(ThrownError, TheEndOfInputIsHandledThoughItsSourceKeepsIt) {
  const std::exception_ptr kept = std::make_exception_ptr(OutOfRangeError("End of sequence"));
  ThrownError thrown;
  try {
    std::rethrow_exception(kept);
  } catch (...) { EXPECT_NE(thrown.record(std::current_exception()), kept); }
  thrown.forget_if_handled();
  EXPECT_EQ(thrown.get(), nullptr);
}

TEST(ThrownError, KeepsTheVeryErrorOtherwise) {
  const std::exception_ptr kept = std::make_exception_ptr(KernelBroke("broke"));
  ThrownError thrown;
  EXPECT_EQ(thrown.record(kept), kept);
  EXPECT_EQ(thrown.get(), kept);
  thrown.forget();
  EXPECT_EQ(thrown.get(), nullptr);
}

TEST(ThrownError, ACopyOfAnErrorLivesOnItsOwn) {
  std::optional<DataLossError> error(std::in_place, "torn");
  const std::weak_ptr<const void> first = error->lifetime();
  const DataLossError copy = *error;
  error.reset();
  EXPECT_TRUE(first.expired());
  EXPECT_FALSE(copy.lifetime().expired());
}

}  // namespace
}  // namespace trainhook
