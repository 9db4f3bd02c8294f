// SPDX-License-Identifier: Apache-2.0
/// @file
/// Building messages from pieces.
#include <trainhook/core/str_cat.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

struct Place {
  [[nodiscard]] std::string to_string() const { return "somewhere"; }
};
enum class Level : std::uint8_t { High = 7 };

TEST(StrCat, JoinsTextNumbersAndAnythingWithToString) {
  EXPECT_EQ(str_cat("step ", 12, ' ', std::string("of"), ' ', std::string_view("run"), " at ", Place{}), "step 12 of run at somewhere");
}

TEST(StrCat, OfNothingIsEmpty) { EXPECT_EQ(str_cat(), ""); }

TEST(StrCat, WritesBooleansAsWordsAndEnumeratorsAsNumbers) {
  EXPECT_EQ(str_cat(true, ',', false, ',', Level::High), "true,false,7");
}

TEST(StrCat, WritesTheExtremesOfIntegers) {
  EXPECT_EQ(str_cat((std::numeric_limits<std::int64_t>::min)()), "-9223372036854775808");
  EXPECT_EQ(str_cat((std::numeric_limits<std::uint64_t>::max)()), "18446744073709551615");
  EXPECT_EQ(str_cat(std::uint8_t{65}), "65");
}

TEST(StrCat, WritesFloatsSoThatTheyReadBackTheSame) {
  EXPECT_EQ(str_cat(0.1), "0.1");
  EXPECT_EQ(str_cat(0.1f), "0.1");
  EXPECT_EQ(str_cat(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(str_cat(-(std::numeric_limits<double>::max)()), "-1.7976931348623157e+308");
  EXPECT_EQ(str_cat(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace trainhook
