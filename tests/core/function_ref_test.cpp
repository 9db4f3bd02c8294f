// SPDX-License-Identifier: Apache-2.0
/// @file
/// References to callables.
#include <trainhook/core/function_ref.hpp>

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

int apply(FunctionRef<int(int)> function, int value) { return function(value); }

TEST(FunctionRef, CallsWhatItRefersTo) {
  int calls = 0;
  EXPECT_EQ(apply([&calls](int value) { return ++calls + value; }, 10), 11);
  EXPECT_EQ(calls, 1);
}

TEST(FunctionRef, SeesTheCallablesOwnState) {
  auto counter = [count = 0](int step) mutable { return count += step; };
  const FunctionRef<int(int)> reference = counter;
  reference(2);
  EXPECT_EQ(reference(3), 5);
  EXPECT_EQ(counter(0), 5);
}

TEST(FunctionRef, PassesArgumentsThroughWithoutCopies) {
  const auto take = [](std::unique_ptr<std::string> text) { return *text; };
  const FunctionRef<std::string(std::unique_ptr<std::string>)> reference = take;
  EXPECT_EQ(reference(std::make_unique<std::string>("moved")), "moved");
}

TEST(FunctionRef, OfNothingIsFalse) {
  const FunctionRef<void()> nothing;
  EXPECT_FALSE(static_cast<bool>(nothing));
  const auto something = [] {};
  EXPECT_TRUE(static_cast<bool>(FunctionRef<void()>(something)));
}

static_assert(sizeof(FunctionRef<void()>) == 2 * sizeof(void*));

}  // namespace
}  // namespace trainhook
