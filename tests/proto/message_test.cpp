// SPDX-License-Identifier: Apache-2.0
/// @file
/// Messages written, read and printed by their tables of fields.
#include <trainhook/proto/message.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/inline_vector.hpp>
#include <trainhook/proto/message_text.hpp>

#include "hex.hpp"

namespace trainhook::detail {

enum class Colour : std::int32_t { None = 0, Red = 1 };

struct Inner {
  std::int64_t size = 0;
};
template <>
inline constexpr auto kFields<Inner> = std::tuple(field(1, "size", &Inner::size));

struct Outer {
  std::int32_t number = 7;
  bool flag = false;
  Colour colour = Colour::None;
  Fixed32 checksum{};
  double real = 0;
  std::string text{};
  Inner always{};
  std::optional<Inner> inner{};
  std::optional<float> member{};
  std::vector<std::int32_t> numbers{};
  std::vector<double> reals{};
  std::vector<std::string> texts{};
  InlineVector<Inner, 1> inners{};
};
template <>
inline constexpr auto kFields<Outer> =
    std::tuple(field(1, "number", &Outer::number), field(2, "flag", &Outer::flag), field(3, "colour", &Outer::colour),
               field(4, "checksum", &Outer::checksum), field(5, "real", &Outer::real), field(6, "text", &Outer::text),
               field(7, "always", &Outer::always), field(8, "inner", &Outer::inner), field(9, "member", &Outer::member),
               field(10, "numbers", &Outer::numbers), field(11, "reals", &Outer::reals),
               field(12, "texts", &Outer::texts), field(200, "inners", &Outer::inners));

namespace {

using support::bytes;

Outer full_message() {
  Outer message;
  message.number = -1;
  message.flag = true;
  message.colour = Colour::Red;
  message.checksum = {0x01020304};
  message.real = 0.5;
  message.text = "a";
  message.always.size = 300;
  message.inner.emplace();
  message.member = 0.0F;
  message.numbers = {1, -1};
  message.reals = {2.0};
  message.texts = {"", "b"};
  message.inners = {Inner{1}, Inner{0}};
  return message;
}

TEST(Message, WritesEachKindOfField) {
  EXPECT_EQ(message_bytes(full_message()),
            bytes("08ffffffffffffffffff01 1001 1801 2504030201 29000000000000e03f 320161 3a0308ac02 4200 4d00000000 "
                  "520b01ffffffffffffffffff01 5a080000000000000040 6200 620162 c20c020801 c20c00"));
}

TEST(Message, LeavesOutWhatIsZeroButNotNestedMessages) {
  Outer message;
  message.number = 0;
  EXPECT_EQ(message_bytes(message), bytes("3a00"));
}

TEST(Message, ReadsWhatItWrote) {
  const std::string written = message_bytes(full_message());
  EXPECT_EQ(message_bytes(parse_message<Outer>(written, "x")), written);
}

TEST(Message, AFieldThatIsMissingIsZeroWhateverTheStructSays) { EXPECT_EQ(parse_message<Outer>("", "x").number, 0); }

TEST(Message, OfAFieldThatComesTwiceTheLastCounts) {
  EXPECT_EQ(parse_message<Outer>(bytes("0801 0802"), "x").number, 2);
  EXPECT_EQ(parse_message<Outer>(bytes("42020805 4200"), "x").inner.value().size, 0);
}

TEST(Message, UnknownFieldsAreSkippedAndNumbersMayBeUnpacked) {
  const Outer message = parse_message<Outer>(bytes("f80701 5001 5002"), "x");
  EXPECT_EQ(message.numbers, (std::vector<std::int32_t>{1, 2}));
}

TEST(Message, DamageIsDataLoss) {
  EXPECT_THROW((void)parse_message<Outer>(bytes("0a00"), "x"), DataLossError);    // a message for a number
  EXPECT_THROW((void)parse_message<Outer>(bytes("320561"), "x"), DataLossError);  // ends early
}

TEST(MessageText, PrintsWhatIsWritten) {
  EXPECT_EQ(message_text(full_message()),
            "number: -1\nflag: true\ncolour: 1\nchecksum: 16909060\nreal: 0.5\ntext: \"a\"\nalways {\n  size: 300\n}\n"
            "inner {\n}\nmember: 0.0\nnumbers: 1\nnumbers: -1\nreals: 2.0\ntexts: \"\"\ntexts: \"b\"\ninners {\n"
            "  size: 1\n}\ninners {\n}\n");
}

TEST(MessageText, ReadsWhatItPrinted) {
  const Outer message = parse_message_text<Outer>(message_text(full_message()), "x");
  EXPECT_EQ(message_bytes(message), message_bytes(full_message()));
}

TEST(MessageText, AValueOfAnotherKindIsDataLoss) {
  for (const char* text : {"number: \"1\"", "number: 1.5", "flag: 2", "real: one", "text: 1", "inner: 1"})
    EXPECT_THROW((void)parse_message_text<Outer>(text, "x"), DataLossError) << text;
  EXPECT_NO_THROW((void)parse_message_text<Outer>("other: \"1\"", "x"));
}

}  // namespace
}  // namespace trainhook::detail
