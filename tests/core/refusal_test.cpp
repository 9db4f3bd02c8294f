// SPDX-License-Identifier: Apache-2.0
/// @file
/// Overloads for mistakes; tests/compile_fail has what the compilers say.
#include <trainhook/core/refusal.hpp>

#include <concepts>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

struct Taker {
  Taker() = default;
  TRAINHOOK_MISTAKE("a taker is made of nothing", class Other)
  Taker(const Other& other)
    requires(!std::same_as<Other, Taker>)
  TRAINHOOK_REFUSED;

  template <std::integral Number>
  static std::string take(Number /*number*/) {
    return "number";
  }
  static std::string take(std::string_view /*text*/) { return "text"; }
  TRAINHOOK_MISTAKE("only numbers and texts", class Other)
  static std::string take(const Other& other)
    requires(!std::integral<Other> && !std::convertible_to<const Other&, std::string_view>)
  TRAINHOOK_REFUSED;
};

template <class Argument>
concept Taken = requires(const Argument& argument) { Taker::take(argument); };

TEST(Refusal, ARequiresExpressionFindsNoSuchFunction) {
  static_assert(Taken<int> && Taken<std::string> && !Taken<Taker> && !Taken<double>);
  static_assert(!std::constructible_from<Taker, int> && !std::convertible_to<int, Taker>);
  static_assert(std::copyable<Taker>);
}

TEST(Refusal, OtherCallsGoWhereTheyWouldWithoutIt) {
  EXPECT_EQ(Taker::take(1), "number");
  EXPECT_EQ(Taker::take("one"), "text");
}

}  // namespace
}  // namespace trainhook
