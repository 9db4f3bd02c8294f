// SPDX-License-Identifier: Apache-2.0
/// @file
/// The list of all op types, and whether their definitions can be read.
#include <trainhook/model/ops/registry.hpp>

#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "expect_gradients.hpp"

namespace trainhook {
namespace {

TEST(OpRegistry, HoldsEachOpTypeOnce) {
  std::set<std::string_view> types;
  for (const detail::OpFamily family : model::ops()) {
    for (const OpDef* def : family) EXPECT_TRUE(types.insert(def->type).second) << def->type;
  }
  EXPECT_GT(types.size(), 140U);
}

TEST(OpRegistry, GivesGradientsToThoseThatHaveThem) { support::expect_gradients(model::ops()); }

}  // namespace
}  // namespace trainhook
