// SPDX-License-Identifier: Apache-2.0
/// @file
/// LastError: what it remembers of an error, and how it learns that the error was handled.
#include <trainhook/monitored/last_error.hpp>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

using detail::LastError;

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
void pass(LastError& thrown, E error) {
  try {
    throw E(std::move(error));
  } catch (...) {
    const std::exception_ptr now = thrown.record();
    if (now != std::current_exception()) std::rethrow_exception(now);
    throw;
  }
}

/// What it knows in a destructor while `E` unwinds, which is the error that passed.
template <class E>
std::string while_unwinding(E error) {
  struct Session {
    ~Session() {
      const std::string text = describe(thrown.get());
      *seen = thrown.was_handled() ? "handled" : text;
    }
    LastError thrown;
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

/// Whether it knows that the error was handled, with and without a call of the program after that.
template <class E>
std::string after_handling(E error, bool with_call = false) {
  LastError thrown;
  try {
    pass(thrown, std::move(error));
  } catch (...) {
    thrown.note_call();
    EXPECT_EQ(thrown.get(), std::current_exception()) << "it is being handled";
  }
  if (with_call) thrown.note_call();
  const std::string text = describe(thrown.get());
  return thrown.was_handled() ? "handled" : text;
}

TEST(LastError, KnowsAnErrorThatUnwinds) {
  EXPECT_EQ(while_unwinding(OutOfRangeError("End of sequence")), "OutOfRange: End of sequence");
  EXPECT_EQ(while_unwinding(DataLossError("torn")), "DataLoss: torn");
  EXPECT_EQ(while_unwinding(KernelBroke("broke")), "InvalidArgument: broke");
}

TEST(LastError, KnowsAtOnceThatAnEndOfInputWasHandled) {
  EXPECT_EQ(after_handling(OutOfRangeError("End of sequence")), "handled");
}

TEST(LastError, KnowsByTheNextCallThatAnotherErrorWasHandled) {
  EXPECT_EQ(after_handling(DataLossError("torn")), "DataLoss: torn");
  EXPECT_EQ(after_handling(DataLossError("torn"), true), "handled");
  EXPECT_EQ(after_handling(KernelBroke("broke"), true), "handled");
  EXPECT_EQ(after_handling(std::runtime_error("broken"), true), "handled");
  EXPECT_EQ(after_handling(Foreign(), true), "handled");
}

TEST(LastError, KnowsErrorsOfOtherFamiliesThatUnwind) {
  EXPECT_EQ(while_unwinding(std::runtime_error("broken")), "broken");
  EXPECT_EQ(while_unwinding(std::bad_alloc()), std::bad_alloc().what());
  EXPECT_EQ(while_unwinding(Foreign()), "foreign");
}

TEST(LastError, AnEndOfInputThatTheProgramKeepsIsNotHandled) {
  LastError thrown;
  std::exception_ptr kept;
  try {
    pass(thrown, OutOfRangeError("End of sequence"));
  } catch (...) { kept = std::current_exception(); }
  thrown.note_call();
  EXPECT_FALSE(thrown.was_handled()) << "it may be thrown again";
}

TEST(LastError, OfATypeDerivedFromTheEndOfInputOnlyACallTells) {
  struct Exhausted : OutOfRangeError {
    using OutOfRangeError::OutOfRangeError;
  };
  EXPECT_EQ(after_handling(Exhausted("no more files")), "OutOfRange: no more files");
  EXPECT_EQ(after_handling(Exhausted("no more files"), true), "handled");
}

TEST(LastError, TheEndOfInputIsHandledThoughItsSourceKeepsIt) {
  const std::exception_ptr kept = std::make_exception_ptr(OutOfRangeError("End of sequence"));
  LastError thrown;
  try {
    std::rethrow_exception(kept);
  } catch (...) { EXPECT_NE(thrown.record(), kept); }
  EXPECT_TRUE(thrown.was_handled());
}

TEST(LastError, KeepsTheVeryErrorOtherwise) {
  const std::exception_ptr kept = std::make_exception_ptr(KernelBroke("broke"));
  LastError thrown;
  try {
    std::rethrow_exception(kept);
  } catch (...) { EXPECT_EQ(thrown.record(), kept); }
  EXPECT_EQ(thrown.get(), kept);
  thrown.forget();
  EXPECT_EQ(thrown.get(), nullptr);
}

}  // namespace
}  // namespace trainhook
