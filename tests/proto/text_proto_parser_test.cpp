// SPDX-License-Identifier: Apache-2.0
/// @file
/// Text protos in all the forms that protobuf accepts, and what it does not.
#include <trainhook/proto/text_proto_parser.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/text_proto_printer.hpp>

#include "damage.hpp"
#include "data_files.hpp"

namespace trainhook {
namespace {

/// One line for a tree of fields: strings in quotes, messages in braces.
std::string outline(const std::vector<detail::TextProtoField>& fields) {
  std::string text;
  for (const detail::TextProtoField& field : fields) {
    if (!text.empty()) text += ' ';
    text += field.name + "=";
    switch (field.kind) {
      case detail::TextProtoField::Kind::String: text += "'" + field.text + "'"; break;
      case detail::TextProtoField::Kind::Bare: text += field.text; break;
      case detail::TextProtoField::Kind::Message: text += "{" + outline(field.fields) + "}"; break;
    }
  }
  return text;
}

std::string parsed(std::string_view text) { return outline(detail::parse_text_proto(text, "run/checkpoint")); }

TEST(TextProtoParser, TakesTheFormsOfAField) {
  EXPECT_EQ(parsed("a: 1\nb: \"x\"\nc { d: -1.5e3 }"), "a=1 b='x' c={d=-1.5e3}");
  EXPECT_EQ(parsed("a:1,b:'x';c:<d:TRUE>"), "a=1 b='x' c={d=TRUE}");
  EXPECT_EQ(parsed("# comment\na: 1 # more\n#end"), "a=1");
  EXPECT_EQ(parsed("a: \"x\" 'y'\n  \"z\""), "a='xyz'");
  EXPECT_EQ(parsed("a: [1, 2, 3] b: [] c: [{x: 1}, {x: 2}]"), "a=1 a=2 a=3 c={x=1} c={x=2}");
  EXPECT_EQ(parsed("[type.googleapis.com/T] { a: 1 }"), "[type.googleapis.com/T]={a=1}");
  EXPECT_EQ(parsed(""), "");
}

TEST(TextProtoParser, UnescapesStrings) {
  EXPECT_EQ(parsed(R"(a: "\n\t\"\'\\\303\251\x41\1012")"),
            "a='\n\t\"'\\\xc3\xa9"
            "AA2'");
  EXPECT_EQ(parsed("a: \"\xc3\xa9\""), "a='\xc3\xa9'");
}

TEST(TextProtoParser, ReadsEveryByteThatThePrinterWrites) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  detail::TextProtoPrinter printer;
  printer.string("a", all);
  EXPECT_EQ(detail::parse_text_proto(printer.text(), "x").at(0).text, all);
}

TEST(TextProtoParser, RefusesWhatDoesNotParseNamingFileAndLine) {
  for (const char* text : {"a", "a:", "a: \"x", "a: \"x\ny\"", "a {", "a: }", "a: \"\\q\"", "a: \"\\x\"",
                           "a: \"\\777\"", ": 1", "a: [1", "a: 1 }", "[a: 1", "a { b: 1 >"}) {
    EXPECT_THROW(parsed(text), DataLossError) << text;
  }
  try {
    parsed("a: 1\nb");
    FAIL();
  } catch (const DataLossError& error) {
    EXPECT_STREQ(error.what(), "run/checkpoint does not parse: expected ':' after b in line 2");
  }
}

TEST(TextProtoParser, EveryCutOfAMessageIsHandled) {
  const std::string_view text = "a: \"x\\303\" b { c: [1, 2] d < e: 'f' > } # g";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    try {
      parsed(text.substr(0, size));
    } catch (const DataLossError&) {}
  }
}

TEST(TextProtoParser, ReadsAGraphOfTensorFlowAndWhateverDamageSays) {
  const std::string text = read_file(posix_file_system(), testing::data_file("graph.pbtxt"));
  EXPECT_GT(detail::parse_text_proto(text, "graph.pbtxt").size(), 50U);
  testing::expect_refused_or_read(
      text, "graph.pbtxt", [](const std::string& damaged) { return detail::parse_text_proto(damaged, "graph.pbtxt"); },
      1000);
}

TEST(TextProtoParser, RefusesEndlessNesting) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "a{";
  EXPECT_THROW(parsed(text), DataLossError);
}

}  // namespace
}  // namespace trainhook
