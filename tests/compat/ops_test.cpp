// SPDX-License-Identifier: Apache-2.0
/// @file
/// The list of all op types that an import knows.
#include <trainhook/compat/ops.hpp>

#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/model/ops/registry.hpp>

#include "expect_gradients.hpp"

namespace trainhook {
namespace {

TEST(CompatOps, HoldEachOpTypeOnceAndThoseOfModelsToo) {
  std::set<std::string_view> types;
  for (const detail::OpFamily family : compat::ops()) {
    for (const OpDef* def : family) {
      EXPECT_TRUE(types.insert(def->type).second) << def->type;
      EXPECT_EQ(find_op_def(def->type), def);
    }
  }
  for (const detail::OpFamily family : model::ops()) {
    for (const OpDef* def : family) EXPECT_TRUE(types.contains(def->type)) << def->type;
  }
  EXPECT_GT(types.size(), 180U);
}

TEST(CompatOps, HaveTheGradientsOfTheirDefinitions) { support::expect_gradients(compat::ops()); }

TEST(CompatOps, AreFoundAfterDefinitionsThatAreGiven) {
  const OpDef own{.type = "MatMul", .signature = "->"};
  EXPECT_EQ(find_op_def("MatMul", {&own, 1}), &own);
  EXPECT_EQ(find_op_def("CudnnRNN"), nullptr);
}

}  // namespace
}  // namespace trainhook
