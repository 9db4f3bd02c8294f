// SPDX-License-Identifier: Apache-2.0
/// @file
/// Text protos as TensorFlow prints them.
#include <trainhook/proto/text_proto_printer.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "allocations.hpp"

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

}  // namespace
}  // namespace trainhook
