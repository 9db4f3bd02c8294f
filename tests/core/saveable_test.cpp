// SPDX-License-Identifier: Apache-2.0
/// @file
/// Named values that are saved together.
#include <trainhook/core/saveable.hpp>

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/log_lines.hpp>

namespace trainhook {
namespace {

TEST(StateValues, FindsAValueByName) {
  StateValues values;
  EXPECT_TRUE(values.empty());
  values.set("best", 0.5f);
  values.set("", Tensor("the only one without a name"));
  ASSERT_NE(values.find("best"), nullptr);
  EXPECT_EQ(*values.find("best"), Tensor(0.5f));
  EXPECT_EQ(values.at("").scalar<std::string>(), "the only one without a name");
  EXPECT_EQ(values.find("worst"), nullptr);
}

TEST(StateValues, SaysWhichValueIsMissing) {
  try {
    (void)StateValues().at("best");
    FAIL() << "found in an empty set";
  } catch (const NotFoundError& error) { EXPECT_STREQ(error.what(), "the saved state has no value 'best'"); }
}

TEST(Saveable, IsNamedIfItCannotSave) {
  struct Broken final : Saveable {
    std::string name() const override { return "queue"; }
    StateValues save() override { throw std::range_error("too far"); }
    void load(const StateValues&) override {}
  } broken;
  const testing::LogLines log;
  EXPECT_THROW(static_cast<void>(detail::entries_of(broken)), std::range_error);
  EXPECT_EQ(log.count("E save of Saveable 'queue' threw: too far"), 1U);
}

}  // namespace
}  // namespace trainhook
