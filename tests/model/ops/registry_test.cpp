// SPDX-License-Identifier: Apache-2.0
/// @file
/// The list of all op types, and whether their definitions can be read.
#include <trainhook/model/ops/registry.hpp>

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/gradient_registry.hpp>

namespace trainhook {
namespace {

TEST(OpRegistry, HoldsEachOpTypeOnce) {
  std::set<std::string_view> types;
  for (const detail::OpFamily family : model::ops()) {
    for (const OpDef* def : family) EXPECT_TRUE(types.insert(def->type).second) << def->type;
  }
  EXPECT_GT(types.size(), 140U);
}

TEST(OpRegistry, GivesGradientsToThoseThatHaveThem) {
  Graph graph;
  for (const detail::OpFamily family : model::ops()) {
    for (const OpDef* def : family) {
      const Node node(graph, 0, {.type = std::string(def->type)}, def);
      const auto find = [&] { static_cast<void>(GradientRegistry().find(node)); };
      if (def->gradient != nullptr) {
        EXPECT_NO_THROW(find()) << def->type;
      } else {
        EXPECT_THROW(find(), NotFoundError) << def->type;
      }
    }
  }
}

}  // namespace
}  // namespace trainhook
