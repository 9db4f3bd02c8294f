// SPDX-License-Identifier: Apache-2.0
/// @file
/// Headers and indices of safetensors files, each field of them damaged.
#include <trainhook/exchange/safetensors_format.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "exchange_files.hpp"
#include "expect_error.hpp"

namespace trainhook {
namespace {

using support::safetensors_file;
using ::testing::HasSubstr;
using testing::MemoryFileSystem;

detail::SafetensorsHeader header_of(std::string file) {
  MemoryFileSystem disk;
  disk.write_file("m", std::move(file));
  return detail::read_safetensors_header(*disk.open_readable("m"));
}

std::string complaint(std::string file) {
  try {
    static_cast<void>(header_of(std::move(file)));
  } catch (const DataLossError& error) { return error.what(); }
  return "none";
}

/// What is said about a file of 8 bytes of data whose tensor `w` has these fields.
std::string complaint_about(std::string_view fields) {
  return complaint(safetensors_file(fmt::format(R"({{"w": {{{}}}}})", fields), "12345678"));
}

TEST(SafetensorsFormat, ReadsNamesDtypesShapesPlacesAndMetadata) {
  const detail::SafetensorsHeader header = header_of(safetensors_file(
      R"({"b": {"dtype":"F32","shape":[2,1],"data_offsets":[2,10]}, "__metadata__": {"format": "pt", "": ""}, )"
      R"("a": {"dtype":"BF16","shape":[],"data_offsets":[0,2]}, "none": {"data_offsets":[10,10],"shape":[0,7],"dtype":"I8"}}  )",
      "1234567890"));
  EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{{"", ""}, {"format", "pt"}}));
  ASSERT_EQ(header.entries.size(), 3u);
  const SafetensorsEntry& b = header.entries.at("b");
  EXPECT_EQ(b.dtype, DType::Float);
  EXPECT_EQ(b.shape, (Shape{2, 1}));
  EXPECT_EQ(b.size, 8u);
  EXPECT_EQ(b.offset, header.entries.at("a").offset + 2);
  EXPECT_EQ(header.entries.at("a").dtype, DType::BFloat16);
  EXPECT_EQ(header.entries.at("none").shape, (Shape{0, 7}));
}

TEST(SafetensorsFormat, NamesDtypesThatTensorsLack) {
  const detail::SafetensorsHeader header = header_of(safetensors_file(
      R"({"f8": {"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}, "f4": {"dtype":"F4","shape":[4],"data_offsets":[2,4]}, )"
      R"("new": {"dtype":"Q5","shape":[99],"data_offsets":[4,8]}, )"
      R"("deep": {"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[8,9]}})",
      "123456789"));
  EXPECT_EQ(header.entries.at("f8").dtype, DType::Invalid);
  EXPECT_THAT(header.entries.at("f8").unsupported,
              HasSubstr("its dtype is F8_E4M3, which tensors of this library lack"));
  EXPECT_THAT(header.entries.at("f4").unsupported, HasSubstr("F4"));
  EXPECT_THAT(header.entries.at("new").unsupported, HasSubstr("Q5"));
  EXPECT_THAT(header.entries.at("deep").unsupported, HasSubstr("it has 9 dimensions"));
}

TEST(SafetensorsFormat, RefusesADamagedLength) {
  EXPECT_EQ(complaint("1234567"), "m is not a safetensors file, or was cut off: it has 7 bytes");
  EXPECT_EQ(complaint(""), "m is not a safetensors file, or was cut off: it has 0 bytes");
  const std::string whole = safetensors_file("{}");
  EXPECT_EQ(complaint(whole), "none");
  EXPECT_THAT(complaint(whole.substr(0, 9)),
              HasSubstr("its header would have 2 bytes; the file has 1 behind the length"));
  EXPECT_THAT(complaint(std::string(8, '\xff') + "{}"), HasSubstr("its header would have 18446744073709551615 bytes"));
  EXPECT_THAT(complaint(std::string(16, '\0')), HasSubstr("its header does not begin with '{'"));
  EXPECT_THAT(complaint(safetensors_file(" {}")), HasSubstr("its header does not begin with '{'"));
}

/// A file so large that its header could be there. Only the length can be read.
class LargeFile final : public ReadableFile {
 public:
  explicit LargeFile(std::uint64_t header) { detail::append_fixed(length_, header); }
  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t size() const override { return std::uint64_t{1} << 40; }
  void read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset != 0 || into.size() != length_.size()) throw InternalError("more than the length is read");
    std::memcpy(into.data(), length_.data(), into.size());
  }

 private:
  std::string path_ = "large";
  std::string length_;
};

TEST(SafetensorsFormat, RefusesAHeaderOfMoreThanAHundredMillionBytesUnread) {
  for (const std::uint64_t header : {detail::kMostSafetensorsHeader + 1, std::uint64_t{1} << 39}) {
    testing::expect_error<DataLossError>({"large", "a header 100000000 at most"}, [&] {
      static_cast<void>(detail::read_safetensors_header(LargeFile(header)));
    });
  }
}

TEST(SafetensorsFormat, ReadsALongHeader) {
  std::string json = "{";
  for (int i = 0; i < 20'000; ++i)
    json +=
        fmt::format(R"({}"{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})", i == 0 ? "" : ",", i, i, i + 1);
  EXPECT_EQ(header_of(safetensors_file(json + "}", std::string(20'000, 'x'))).entries.size(), 20'000u);
}

TEST(SafetensorsFormat, NamesTheDamagedField) {
  constexpr std::string_view kGood = R"("dtype": "F32", "shape": [2], "data_offsets": [0, 8])";
  EXPECT_EQ(complaint_about(kGood), "none");
  struct Case {
    std::string_view fields, said;
  };
  for (const auto& [fields, said] : std::vector<Case>{
           {R"("shape": [2], "data_offsets": [0, 8])", "dtype is missing"},
           {R"("dtype": "F32", "data_offsets": [0, 8])", "shape is missing"},
           {R"("dtype": "F32", "shape": [2])", "data_offsets does not have two numbers"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": [0])", "data_offsets does not have two numbers"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": [0, 8, 8])",
            "data_offsets is not an array of two numbers"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": 8)", "data_offsets is not an array of two numbers"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": [0, -8])", "data_offsets is not an array of two numbers"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": [0, 8.0])", "data_offsets is not an array of two numbers"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": [[0, 8]])", "data_offsets is not an array of two numbers"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": {"a": 0})", "data_offsets is not an array of two numbers"},
           {R"("dtype": 1, "shape": [2], "data_offsets": [0, 8])", "dtype is not a text"},
           {R"("dtype": ["F32"], "shape": [2], "data_offsets": [0, 8])", "dtype is not a text"},
           {R"("dtype": "F32", "shape": 2, "data_offsets": [0, 8])", "shape is not an array of numbers"},
           {R"("dtype": "F32", "shape": [-2], "data_offsets": [0, 8])", "shape is not an array of numbers"},
           {R"("dtype": "F32", "shape": ["2"], "data_offsets": [0, 8])", "shape is not an array of numbers"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": [0, 8], "extra": 1)", "it has a field 'extra'"},
           {R"("dtype": "F32", "shape": [3], "data_offsets": [0, 8])",
            "data_offsets are 8 bytes apart, and 3 elements of 32"},
           {R"("dtype": "F4", "shape": [15], "data_offsets": [0, 8])",
            "data_offsets are 8 bytes apart, and 15 elements of 4"},
           {R"("dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 8])",
            "more elements than 63 bits"},
           {R"("dtype": "F32", "shape": [0, 9223372036854775808], "data_offsets": [0, 0])",
            "more elements than 63 bits"},
           {R"("dtype": "F32", "shape": [0, 9223372036854775807, 2], "data_offsets": [0, 0])", "more elements than 63"},
           {R"("dtype": "F32", "shape": [4611686018427387904], "data_offsets": [0, 0])",
            "data_offsets are 0 bytes apart"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": [8, 0])", "data_offsets are [8, 0], and the file has 8"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": [0, 9])", "data_offsets are [0, 9], and the file has 8"},
           {R"("dtype": "F32", "shape": [2], "data_offsets": [18446744073709551608, 18446744073709551615])",
            "the file has 8"},
           {R"("dtype": "F32", "shape": [1], "data_offsets": [4, 8])",
            "data_offsets begin at 4, and the tensors before it end at 0"},
           {R"("dtype": "F32", "dtype": "F32", "shape": [2], "data_offsets": [0, 8])", "it has the name 'dtype' twice"},
       }) {
    EXPECT_THAT(complaint_about(fields), HasSubstr(said)) << fields;
    EXPECT_THAT(complaint_about(fields), HasSubstr("safetensors file m")) << fields;
  }
  EXPECT_THAT(complaint_about(R"("dtype": "F32", "shape": [1], "data_offsets": [0, 4])"),
              HasSubstr("its tensors have 4 bytes by the header, and the file has 8 behind it; get it again"));
}

TEST(SafetensorsFormat, RefusesTensorsThatOverlapLeaveHolesOrShareAName) {
  const auto with = [](std::string_view a, std::string_view b) {
    constexpr std::string_view kFile =
        R"({{"a": {{"dtype":"U8","shape":[4],"data_offsets":[{}]}}, "b": {{"dtype":"U8","shape":[4],"data_offsets":[{}]}}}})";
    return complaint(safetensors_file(fmt::format(kFile, a, b), "12345678"));
  };
  EXPECT_EQ(with("0,4", "4,8"), "none");
  EXPECT_EQ(with("4,8", "0,4"), "none");
  EXPECT_THAT(with("0,4", "0,4"), HasSubstr("data_offsets begin at 0, and the tensors before it end at 4"));
  EXPECT_THAT(with("0,4", "3,7"), HasSubstr("tensor 'b': data_offsets begin at 3, and the tensors before it end at 4"));
  EXPECT_THAT(with("0,4", "5,9"), HasSubstr("tensor 'b': data_offsets are [5, 9], and the file has 8 bytes"));
  EXPECT_THAT(
      complaint(safetensors_file(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
          "12")),
      HasSubstr("it has the name 'a' twice"));
}

TEST(SafetensorsFormat, RefusesOtherJson) {
  EXPECT_THAT(complaint(safetensors_file("{\"w\": 1}")), HasSubstr("tensor 'w': it is not an object"));
  EXPECT_THAT(complaint(safetensors_file("{\"w\": []}")), HasSubstr("tensor 'w': it is not an object"));
  EXPECT_THAT(complaint(safetensors_file("{\"w\": [{}]}")), HasSubstr("tensor 'w': it is not an object"));
  EXPECT_THAT(complaint(safetensors_file("{\"w\": {\"dtype\": {\"shape\": [1]}}}")), HasSubstr("dtype is not a text"));
  for (const std::string_view metadata :
       {"1", "null", "[]", "[\"a\"]", R"({"a": 1})", R"({"a": {}})", R"({"a": ["b"]})"}) {
    EXPECT_THAT(complaint(safetensors_file(fmt::format(R"({{"__metadata__": {}}})", metadata))),
                HasSubstr("__metadata__ is not an object of texts"))
        << metadata;
  }
  EXPECT_THAT(complaint(safetensors_file("{}\1\1")), HasSubstr("byte 3 is not JSON"));
  EXPECT_THAT(complaint(safetensors_file("{}{}")), HasSubstr("byte 3 is not JSON"));
  EXPECT_THAT(complaint(safetensors_file("{\"\xff\": {}}")), HasSubstr("is not JSON"));
}

TEST(SafetensorsFormat, SurvivesEveryChangedByte) {
  const std::string file = safetensors_file(R"({"w": {"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const int flip : {1, 2, 128, 255}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      static_cast<void>(complaint(changed));  // another error than DataLossError would pass through
    }
    static_cast<void>(complaint(file.substr(0, i)));
  }
}

std::string complaint_about_index(std::string json) {
  MemoryFileSystem disk;
  disk.write_file("i", std::move(json));
  try {
    static_cast<void>(detail::read_safetensors_index(*disk.open_readable("i")));
  } catch (const DataLossError& error) { return error.what(); }
  return "none";
}

TEST(SafetensorsFormat, RefusesADamagedIndex) {
  EXPECT_EQ(complaint_about_index(R"({"metadata": {"total_size": 1, "more": [null, {"a": 1.5}]}, "weight_map": {}})"),
            "none");
  EXPECT_EQ(complaint_about_index("{}"), "index i is damaged: it has no weight_map");
  for (const std::string_view map : {"1", "[]", R"({"a": 1})", R"({"a": {"b": "c"}})", R"({"a": ["b"]})"})
    EXPECT_THAT(complaint_about_index(fmt::format(R"({{"weight_map": {}}})", map)), HasSubstr("weight_map is")) << map;
  for (const std::string_view file : {"", ".", "..", "../secret", "/etc/passwd", "a/b", "a\\\\b", "a\\u0000b"}) {
    EXPECT_THAT(complaint_about_index(fmt::format(R"({{"weight_map": {{"a": "{}"}}}})", file)),
                HasSubstr("weight_map has tensor 'a' in"))
        << file;
  }
  EXPECT_THAT(complaint_about_index(R"({"weight_map": {"a": "1", "a": "2"}})"), HasSubstr("it has the name 'a' twice"));
  EXPECT_THAT(complaint_about_index("x"), HasSubstr("is not JSON"));
}

}  // namespace
}  // namespace trainhook
