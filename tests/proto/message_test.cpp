// SPDX-License-Identifier: Apache-2.0
/// @file
/// Messages written, read and printed by their tables of fields.
#include <trainhook/proto/message.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
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

enum class Size : std::int32_t { Small = 0, Large = 2 };
inline constexpr ValueNames kSizeNames = {
    .name_of = [](std::uint64_t size) -> std::string_view { return size == 0   ? "SMALL"
                                                                   : size == 2 ? "LARGE"
                                                                               : ""; },
    .value_of = [](std::string_view name) -> std::optional<std::uint64_t> {
      return name == "SMALL" ? std::optional(0) : name == "LARGE" ? std::optional(2) : std::nullopt;
    }};

struct Choice {
  std::variant<std::monostate, std::int64_t, std::string_view, Inner, std::string> one{};
  std::vector<Size> sizes{};
  std::vector<bool> flags{};
};
template <>
inline constexpr auto kFields<Choice> =
    std::tuple(alternative<1>(1, "number", &Choice::one), alternative<2>(2, "text", &Choice::one),
               alternative<3>(3, "inner", &Choice::one), alternative<4>(4, "name", &Choice::one),
               field(5, "sizes", &Choice::sizes, &kSizeNames), field(6, "flags", &Choice::flags));

struct Envelope {
  std::string_view address{};
  std::vector<Serialized<Inner>> letters{};
};
template <>
inline constexpr auto kFields<Envelope> =
    std::tuple(field(1, "address", &Envelope::address), field(2, "letters", &Envelope::letters));

namespace {

using support::bytes;

template <class M>
std::string bytes_from_text(std::string_view text, std::string_view what) {
  const std::string wire = wire_from_text(text, what, kTextFields<M>);
  return message_bytes(parse_message<M>(wire, what));
}

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

TEST(Message, AMemberOfAOneofIsWrittenEvenIfItIsZero) {
  Choice message;
  EXPECT_EQ(message_bytes(message), "");
  message.one = std::int64_t{0};
  EXPECT_EQ(message_bytes(message), bytes("0800"));
  message.one.emplace<2>();
  EXPECT_EQ(message_bytes(message), bytes("1200"));
  message.one = Inner{1};
  EXPECT_EQ(message_bytes(message), bytes("1a020801"));
}

TEST(Message, OfAOneofTheLastMemberCounts) {
  const std::string written = bytes("0805 220161 1a020807");
  const auto message = parse_message<Choice>(written, "x");
  ASSERT_EQ(message.one.index(), 3U);
  EXPECT_EQ(std::get<3>(message.one).size, 7);
  EXPECT_EQ(parse_message<Choice>(bytes("1a020807 220161"), "x").one.index(), 4U);
  EXPECT_EQ(parse_message<Choice>("", "x").one.index(), 0U);
}

TEST(Message, EnumsAndBooleansArePackedToo) {
  const Choice message{.sizes = {Size::Large, Size::Small}, .flags = {true, false}};
  EXPECT_EQ(message_bytes(message), bytes("2a020200 32020100"));
  for (const char* written : {"2a020200 32020100", "2802 2800 3001 3000"}) {
    const auto read = parse_message<Choice>(bytes(written), "x");
    EXPECT_EQ(read.sizes, message.sizes) << written;
    EXPECT_EQ(read.flags, message.flags) << written;
  }
}

TEST(Message, CanBeReadFieldByField) {
  const std::string written = bytes("2802 f80701 2800");
  WireReader reader(written, "x");
  std::vector<std::size_t> sizes;
  while (reader.next()) {
    Choice part;
    read_one_field(reader, part);
    sizes.push_back(part.sizes.size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 0, 1}));
}

TEST(Message, AMemberFindsItsNumber) {
  static_assert(field_number(&Outer::number) == 1 && field_number(&Outer::numbers) == 10 &&
                field_number(&Outer::inners) == 200);
  static_assert(field_number(&Envelope::letters) == 2);
}

TEST(Message, InsideAnotherMayBeReadLater) {
  const std::string written = bytes("0a0161 1200 1202080a 12020d00");
  WireReader reader(written, "x");
  Envelope envelope;
  read_message(reader, envelope);
  EXPECT_EQ(message_bytes(envelope), written);
  ASSERT_EQ(envelope.letters.size(), 3U);
  EXPECT_EQ(parse_message<Inner>(envelope.letters[1], "x").size, 10);
  try {
    Inner letter;
    read_message(reader.message_in(envelope.letters[2]), letter);
    FAIL();
  } catch (const DataLossError& error) {
    EXPECT_STREQ(error.what(),
                 "x is damaged or of another format: field 1 has wire type 5, not 0 near byte 12 of the message");
  }
}

TEST(MessageText, OfBytesOfAMessageIsThatOfTheMessage) {
  const std::string text = "address: \"a\"\nletters {\n}\nletters {\n  size: 10\n}\n";
  EXPECT_EQ(message_text(parse_message<Envelope>(bytes("0a0161 1200 1202080a"), "x")), text);
  EXPECT_EQ(bytes_from_text<Envelope>(text, "x"), bytes("0a0161 1200 1202080a"));
  EXPECT_THROW((void)bytes_from_text<Envelope>("letters: 'a'", "x"), DataLossError);
}

TEST(MessageText, EnumsHaveNames) {
  const Choice message{.sizes = {Size::Small, Size::Large, Size{5}}};
  EXPECT_EQ(message_text(message), "sizes: SMALL\nsizes: LARGE\nsizes: 5\n");
  EXPECT_EQ(bytes_from_text<Choice>("sizes: [SMALL, LARGE, 5]", "x"), message_bytes(message));
  EXPECT_THROW((void)bytes_from_text<Choice>("sizes: HUGE", "x"), DataLossError);
  EXPECT_THROW((void)bytes_from_text<Choice>("sizes: 'LARGE'", "x"), DataLossError);
}

TEST(MessageText, OfAOneofTheLastMemberCounts) {
  EXPECT_EQ(bytes_from_text<Choice>("number: 1 text: 'a'", "x"), bytes("120161"));
  EXPECT_EQ(message_text(parse_message<Choice>(bytes("0800"), "x")), "number: 0\n");
}

TEST(MessageText, RealNumbersAreReadAsTensorFlowReadsThem) {
  const auto real = [](std::string_view text) {
    return parse_message_text<Outer>("real: " + std::string(text), "x").real;
  };
  EXPECT_EQ(real("+1.5f"), 1.5);
  EXPECT_EQ(real("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(real("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real("-1e999"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(real("1e-999"), 0);
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
  try {
    (void)parse_message_text<Outer>("text: 5", "the file");
    FAIL();
  } catch (const DataLossError& error) {
    EXPECT_STREQ(error.what(), "the file is damaged or of another format: 5 is no value for the field text");
  }
}

}  // namespace
}  // namespace trainhook::detail
