// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names of types in messages.
#include <trainhook/core/type_name.hpp>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

template <class T>
struct Box {};

TEST(TypeName, LacksScopesAndTemplateArguments) {
  const std::vector<std::pair<std::string, std::string>> types = {
      {"Hook", "Hook"},
      {"a::b::Hook", "Hook"},
      {"my::Hook<std::string>", "Hook"},
      {"Hook<a::b<c::d> >", "Hook"},
      {"my::Box<std::string>::Hook", "Hook"},
      {"(anonymous namespace)::f(std::vector<int>)::Hook<std::string>", "Hook"},
  };
  for (const auto& [type, name] : types) EXPECT_EQ(detail::short_type_name(type), name) << type;
  EXPECT_EQ(detail::short_type_name(typeid(Box<std::string>)), "Box");
}

}  // namespace
}  // namespace trainhook
