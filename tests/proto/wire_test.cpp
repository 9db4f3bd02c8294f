// SPDX-License-Identifier: Apache-2.0
/// @file
/// Protobuf messages read back, and malformed ones refused by name.
#include <trainhook/proto/wire.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook {
namespace {

template <class T>
std::string element(std::uint32_t number, const T& value) {
  std::string bytes;
  detail::append_element(bytes, number, value);
  return bytes;
}

std::string sample() {
  return element(1, std::int64_t{-1}) + element(2, 0.5) + element(3, -2.0F) + element(4, std::string("name")) +
         element(5, element(1, true)) + element(6, std::string()) + element(7, detail::Fixed32{0xdeadbeef});
}

TEST(Wire, ReadsWhatWasWritten) {
  const std::string text = sample();
  detail::WireReader reader(text, "a message");
  std::string seen;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: seen += fmt::format(" {}", static_cast<std::int64_t>(reader.get_uint64())); break;
      case 2: seen += fmt::format(" {}", reader.get_double()); break;
      case 3: seen += fmt::format(" {}", reader.get_float()); break;
      case 4: seen += fmt::format(" {}", reader.get_bytes()); break;
      case 5:
        for (detail::WireReader nested = reader.get_message(); nested.next();)
          seen += fmt::format(" {}", nested.get_bool());
        break;
      case 6: seen += fmt::format(" {}", reader.get_bytes().size()); break;
      default: reader.skip();
    }
  }
  EXPECT_EQ(seen, " -1 0.5 -2 name true 0");
}

TEST(Wire, EmptyMessagesAreWritten) { EXPECT_EQ(element(2, std::string()), std::string("\x12\x00", 2)); }

TEST(Wire, RepeatedNumbersMayBePackedOrNot) {
  std::string packed;
  std::string loose;
  const std::vector<std::int64_t> integers{1, -1, 300};
  const std::vector<double> doubles{0.5, -1e300};
  detail::append_field(packed, 1, integers);
  detail::append_field(packed, 2, doubles);
  for (std::int64_t value : integers) loose += element(1, value);
  for (double value : doubles) loose += element(2, value);
  for (const std::string& text : {packed, loose}) {
    std::vector<std::int64_t> integers_read;
    std::vector<double> doubles_read;
    for (detail::WireReader reader(text, "a message"); reader.next();) {
      if (reader.tag() == 1) {
        reader.for_each<std::int64_t>([&](std::int64_t value) { integers_read.push_back(value); });
      } else {
        reader.for_each<double>([&](double value) { doubles_read.push_back(value); });
      }
    }
    EXPECT_EQ(integers_read, integers);
    EXPECT_EQ(doubles_read, doubles);
  }
}

TEST(Wire, EveryCutIsCleanOrDataLoss) {
  const std::string text = sample();
  for (std::size_t size = 0; size < text.size(); ++size) {
    detail::WireReader reader(std::string_view(text).substr(0, size), "run/message");
    try {
      while (reader.next()) reader.skip();
    } catch (const DataLossError& error) {
      EXPECT_NE(std::string(error.what()).find("run/message"), std::string::npos) << error.what();
    }
  }
}

TEST(Wire, AnotherWireTypeIsDataLossNotGarbage) {
  const std::string text = element(1, std::string("abc"));
  const auto reader = [&] {
    detail::WireReader made(text, "m");
    EXPECT_TRUE(made.next());
    return made;
  };
  EXPECT_THROW(static_cast<void>(reader().get_uint64()), DataLossError);
  EXPECT_THROW(static_cast<void>(reader().get_double()), DataLossError);
  EXPECT_THROW(static_cast<void>(reader().get_fixed32()), DataLossError);
  EXPECT_THROW(reader().for_each<float>([](float) {}), DataLossError);
}

TEST(Wire, AnErrorNamesThePlaceInTheOutermostMessage) {
  const std::string text = element(1, std::string("0123456789")) + element(2, element(3, 4));
  detail::WireReader reader(text, "run/message");
  ASSERT_TRUE(reader.next());
  reader.skip();
  ASSERT_TRUE(reader.next());
  detail::WireReader nested = reader.get_message();
  ASSERT_TRUE(nested.next());
  try {
    static_cast<void>(nested.get_bytes());
    FAIL();
  } catch (const DataLossError& error) {
    EXPECT_STREQ(
        error.what(),
        "run/message is damaged or of another format: field 3 has wire type 0, not 2 near byte 15 of the message");
  }
}

TEST(Wire, EndlessNestingIsRefused) {
  std::string text;
  for (int i = 0; i < 200; ++i) text = element(1, text);
  const auto descend = [](auto&& self, detail::WireReader reader) -> void {
    while (reader.next()) self(self, reader.get_message());
  };
  EXPECT_THROW(descend(descend, detail::WireReader(text, "m")), DataLossError);
}

}  // namespace
}  // namespace trainhook
