// SPDX-License-Identifier: Apache-2.0
/// @file
/// Text protos as TensorFlow prints them, and in all the forms that protobuf accepts, and what it does not.
#include <trainhook/proto/text_proto.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>

#include "allocations.hpp"
#include "damage.hpp"
#include "data_files.hpp"

namespace trainhook {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  detail::append_text_proto_escaped(result, text);
  return result;
}

TEST(TextProtoPrinter, PrintsOneFieldALine) {
  detail::TextProtoPrinter printer;
  printer.message("node", [&] {
    printer.string("name", "dense/MatMul");
    printer.message("attr", [&] {
      printer.string("key", "T");
      printer.begin_message("value");
      printer.enumerator("type", "DT_FLOAT");
      printer.end_message();
    });
    printer.boolean("flag", true);
  });
  printer.number("producer", 27);
  printer.number("rate", 0.001f);
  EXPECT_EQ(printer.text(),
            "node {\n  name: \"dense/MatMul\"\n  attr {\n    key: \"T\"\n    value {\n      type: DT_FLOAT\n    }\n  "
            "}\n  flag: true\n}\n"
            "producer: 27\nrate: 0.001\n");
}

TEST(TextProtoPrinter, EscapesAsProtobufDoes) {
  EXPECT_EQ(escaped("a\n\r\t\"'\\"), R"(a\n\r\t\"\'\\)");
  EXPECT_EQ(escaped("\xc3\xa9\x01\x7f"), R"(\303\251\001\177)");
  EXPECT_EQ(escaped(std::string_view("\0", 1)), R"(\000)");
}

/// All bytes, many times.
std::string long_value() {
  std::string value;
  for (int i = 0; i < 1'000'000; ++i) value += static_cast<char>(i);
  return value;
}

void print_long_text(detail::TextProtoPrinter& printer, std::string_view value) {
  printer.message("node", [&] {
    printer.string("name", "x");
    printer.string("tensor_content", value);
  });
  for (int i = 0; i < 10'000; ++i) printer.number("producer", i);
}

TEST(TextProtoPrinter, GivesALongTextInPieces) {
  const std::string value = long_value();
  detail::TextProtoPrinter keeping;
  print_long_text(keeping, value);
  std::string text;
  std::size_t longest = 0;
  const auto take = [&](std::string_view piece) {
    text += piece;
    longest = (std::max)(longest, piece.size());
  };
  detail::TextProtoPrinter giving(take);
  print_long_text(giving, value);
  EXPECT_NE(text, keeping.text()) << "the last piece";
  giving.finish();
  EXPECT_EQ(text, keeping.text());
  EXPECT_LT(longest, 100'000U);
  EXPECT_TRUE(giving.text().empty());
}

TEST(TextProtoPrinter, AllocatesALongValueOnce) {
  const std::string value = long_value();
  detail::TextProtoPrinter printer;
  const support::AllocationCount count;
  printer.string("tensor_content", value);
  EXPECT_LT(count.bytes(), printer.text().size() * 5 / 4);
}

TEST(TextProtoPrinter, NumbersAreShortestWithAPoint) {
  EXPECT_EQ(detail::text_proto_number(1.0), "1.0");
  EXPECT_EQ(detail::text_proto_number(-0.0), "-0.0");
  EXPECT_EQ(detail::text_proto_number(0.1f), "0.1");
  EXPECT_EQ(detail::text_proto_number(1700000000.1234567), "1700000000.1234567");
  EXPECT_EQ(detail::text_proto_number(1e-8), "1e-08");
  EXPECT_EQ(detail::text_proto_number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(detail::text_proto_number(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(detail::text_proto_number(std::numeric_limits<double>::quiet_NaN()), "nan");
}

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
