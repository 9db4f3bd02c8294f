// SPDX-License-Identifier: Apache-2.0
#include <trainhook/engine/kernel_width.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/graph.hpp>

#include "expect_error.hpp"

namespace trainhook::detail {
namespace {

std::vector<const KernelWidth*> supported_widths() {
  std::vector<const KernelWidth*> supported;
  for (const KernelWidth& width : kernel_widths()) {
    if (width.is_supported()) supported.push_back(&width);
  }
  return supported;
}

TEST(KernelWidth, IsTheWidestThatTheProcessorHasUnlessOneIsNamed) {
  const auto supported = supported_widths();
  ASSERT_FALSE(supported.empty());
  EXPECT_EQ(&kernel_width(""), supported.back());
  for (const KernelWidth* const width : supported) EXPECT_EQ(&kernel_width(width->name), width);
}

TEST(KernelWidth, ThatIsNotThereIsAnErrorThatListsThoseThatAre) {
  testing::expect_error({"no kernels of width 'avx1024'", supported_widths().back()->name},
                        [] { static_cast<void>(kernel_width("avx1024")); });
}

TEST(KernelWidth, HasTheSameOpTypesAsTheOthersInKernelsOfItsOwn) {
  std::set<const KernelDef*> seen;
  for (const KernelWidth& width : kernel_widths()) {
    for (const KernelGroup group : *kernel_widths().front().kernels()) {
      const KernelGroup wide = width.of(group);
      EXPECT_TRUE(std::ranges::equal(wide, group, {}, &KernelDef::type, &KernelDef::type)) << width.name;
      EXPECT_TRUE(seen.insert(wide.data()).second) << width.name << " has kernels of another width";
    }
  }
}

TEST(KernelWidth, LeavesGroupsAsTheyAreThatDoNotDependOnIt) {
  for (const KernelWidth& width : kernel_widths()) {
    EXPECT_EQ(width.of(kernels::state()).data(), kernels::state().data());
    EXPECT_TRUE(width.of({}).empty());
  }
}

TEST(KernelWidth, OfASessionIsTheOneThatItsOptionsName) {
  for (const KernelWidth* const width : supported_widths()) {
    Graph graph;
    EigenSession session(graph, {.width = std::string(width->name)});
    EXPECT_EQ(session.kernel_width(), width->name);
  }
  Graph graph;
  EXPECT_EQ(EigenSession(graph).kernel_width(), kernel_width("").name);
}

}  // namespace
}  // namespace trainhook::detail
