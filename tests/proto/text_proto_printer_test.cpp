// SPDX-License-Identifier: Apache-2.0
/// @file
/// Text protos as TensorFlow prints them.
#include <trainhook/proto/text_proto_printer.hpp>

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

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
  EXPECT_EQ(detail::text_proto_escaped("a\n\r\t\"'\\"), R"(a\n\r\t\"\'\\)");
  EXPECT_EQ(detail::text_proto_escaped("\xc3\xa9\x01\x7f"), R"(\303\251\001\177)");
  EXPECT_EQ(detail::text_proto_escaped(std::string("\0", 1)), R"(\000)");
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
