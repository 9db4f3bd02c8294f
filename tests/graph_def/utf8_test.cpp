// SPDX-License-Identifier: Apache-2.0
/// @file
/// What is UTF-8, and that names which are not are refused.
#include <trainhook/graph_def/utf8.hpp>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph_def/graph_def_reader.hpp>
#include <trainhook/graph_def/meta_graph_def_reader.hpp>

namespace trainhook {
namespace {

TEST(Utf8, HasCharactersOfOneToFourBytes) {
  for (const std::string_view text :
       {"", "dense/kernel", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(detail::is_utf8(text)) << text;
}

TEST(Utf8, HasNothingElse) {
  for (const std::string_view text : {"\x80", "\xff", "a\xc3", "\xe2\x82", "\xc3(", "\xc0\x80", "\xe0\x80\x80",
                                      "\xf0\x80\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80"})
    EXPECT_FALSE(detail::is_utf8(text)) << text;
}

std::string error_of(const std::string& text, bool is_meta_graph = false) {
  try {
    if (is_meta_graph) {
      static_cast<void>(parse_meta_graph_text(text, "model"));
    } else {
      static_cast<void>(parse_graph_def_text(text, "model"));
    }
  } catch (const DataLossError& error) { return error.what(); }
  return "no error";
}

TEST(Utf8, IsWhatNamesInFilesMustBe) {
  const std::string refused = "model is damaged or of another format: a name in it is not UTF-8";
  EXPECT_EQ(error_of(R"(node { name: "a\377" op: "NoOp" })"), refused);
  EXPECT_EQ(error_of(R"(node { name: "a" op: "No\377" })"), refused);
  EXPECT_EQ(error_of(R"(node { name: "a" op: "NoOp" input: "^\377" })"), refused);
  EXPECT_EQ(error_of(R"(node { name: "a" op: "NoOp" attr { key: "\377" value { i: 1 } } })"), refused);
  EXPECT_EQ(error_of(R"(graph_def {} collection_def { key: "\377" value { node_list { value: "a" } } })", true),
            refused);
  EXPECT_EQ(error_of(R"(graph_def {} collection_def { key: "k" value { node_list { value: "\377" } } })", true),
            refused);
  EXPECT_EQ(error_of(R"(node { name: "a" op: "NoOp" attr { key: "s" value { s: "\377" } } })"), "no error") << "bytes";
}

}  // namespace
}  // namespace trainhook
