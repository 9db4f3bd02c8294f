// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checkpoints read back, and damaged ones: each is refused by the name of its file and tensor.
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>
#include <trainhook/core/coding.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/tables.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"

namespace trainhook {
namespace {

using testing::flipped;
using testing::MemoryFileSystem;

const std::string kData = "run/m.data-00000-of-00001";
const std::string kIndex = "run/m.index";

std::vector<NamedTensor> all_dtypes() {
  return {{"bf16", Tensor::of<BFloat16>({BFloat16{0x3f80}})},
          {"bool", Tensor::of<bool>({true, false, true})},
          {"c128", Tensor::of<std::complex<double>>({{1, -2}})},
          {"c64", Tensor::of<std::complex<float>>({{1, -2}, {0, 3}})},
          {"double", Tensor::of<double>({1.5, -0.0})},
          {"empty", Tensor(DType::Float, Shape{0, 3})},
          {"float", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3})},
          {"half", Tensor::of<Half>({Half{0x3c00}, Half{1}})},
          {"i16", Tensor::of<std::int16_t>({-1, 2})},
          {"i32", Tensor::of<std::int32_t>({-1, 2})},
          {"i64", Tensor(std::int64_t{-5})},
          {"i8", Tensor::of<std::int8_t>({-1, 2})},
          {"no_strings", Tensor(DType::String, Shape{0})},
          {"string", Tensor("one")},
          {"strings", Tensor::of<std::string>({"", "ab", std::string(300, 'x'), std::string("\0\n", 2)}, {2, 2})},
          {"u16", Tensor::of<std::uint16_t>({65535})},
          {"u32", Tensor::of<std::uint32_t>({4294967295u})},
          {"u64", Tensor::of<std::uint64_t>({~0ull})},
          {"u8", Tensor::of<std::uint8_t>({255})}};
}

void write(MemoryFileSystem& disk, const std::vector<NamedTensor>& tensors, const std::string& prefix = "run/m") {
  BundleWriter writer(prefix, {.file_system = &disk, .overwrite = true});
  for (const NamedTensor& entry : tensors) writer.add(entry.name, entry.tensor);
  writer.finish();
}

/// A bundle made by hand: entries as given, data as given, all checksums of the table right.
void write_by_hand(MemoryFileSystem& disk, const std::vector<std::pair<std::string, std::string>>& entries,
                   const std::vector<std::string>& shards) {
  detail::TableWriter table;
  table.add("", detail::encode_bundle_header(static_cast<std::uint32_t>(shards.size())));
  for (const auto& [name, entry] : entries) table.add(name, entry);
  disk.write_file(kIndex, table.finish());
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    disk.write_file(detail::bundle_data_path("run/m", i, static_cast<std::uint32_t>(shards.size())), shards[i]);
  }
}

BundleReader open(MemoryFileSystem& disk) { return BundleReader("run/m", {.file_system = &disk}); }

template <class ErrorType, class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const ErrorType& error) { return error.what(); } catch (const Error& error) {
    return fmt::format("another error: {}", error.what());
  }
  return "no error";
}

TEST(BundleReader, GivesBackEveryDtype) {
  MemoryFileSystem disk;
  write(disk, all_dtypes());
  const BundleReader reader = open(disk);
  EXPECT_EQ(reader.entries().size(), all_dtypes().size());
  for (const NamedTensor& entry : all_dtypes()) {
    EXPECT_TRUE(reader.has_tensor(entry.name));
    EXPECT_EQ(reader.get_tensor(entry.name), entry.tensor) << entry.name;
    EXPECT_EQ(reader.entry(entry.name).dtype, entry.tensor.dtype());
    EXPECT_EQ(reader.entry(entry.name).shape, entry.tensor.shape());
  }
  EXPECT_NO_THROW(reader.verify());
}

TEST(BundleReader, VerifiesOnlyTheNamesThatBeginSo) {
  MemoryFileSystem disk;
  write(disk, {{"a/1", Tensor::of<float>({1})}, {"b/1", Tensor::of<float>({2})}, {"c/1", Tensor::of<float>({3})}});
  std::string bytes = disk.contents(kData);
  bytes[5] = static_cast<char>(bytes[5] ^ 1);
  disk.write_file(kData, bytes);
  const BundleReader reader = open(disk);
  EXPECT_NO_THROW(reader.verify("a/"));
  EXPECT_NE(message_of<DataLossError>([&] { reader.verify("b/"); }).find("tensor b/1"), std::string::npos);
  EXPECT_NO_THROW(reader.verify("c/"));
  EXPECT_NO_THROW(reader.verify("d/"));
}

TEST(BundleReader, ReadsAnIndexOfManyBlocks) {
  MemoryFileSystem disk;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 6000; ++i)
    tensors.push_back({fmt::format("layer_{}/kernel/slot_of_an_optimizer_with_a_long_name", i), Tensor(i)});
  write(disk, tensors);
  EXPECT_GT(disk.contents(kIndex).size(), 256u * 1024);
  const BundleReader reader = open(disk);
  for (int i = 0; i < 6000; i += 37)
    EXPECT_EQ(reader.get_tensor(tensors[static_cast<std::size_t>(i)].name).scalar<std::int32_t>(), i);
}

TEST(BundleReader, ReadsTwoShards) {
  MemoryFileSystem disk;
  const auto entry = [](std::uint32_t shard, const std::string& data) {
    return detail::encode_bundle_entry({.dtype = DType::UInt8,
                                        .shape = Shape{static_cast<std::int64_t>(data.size())},
                                        .shard_id = shard,
                                        .size = data.size(),
                                        .crc32c = crc32c::mask(crc32c::value(data))});
  };
  write_by_hand(disk, {{"a", entry(1, "second")}, {"b", entry(0, "first")}}, {"first", "second"});
  EXPECT_EQ(open(disk).get_tensor("a").data<std::uint8_t>()[0], 's');
  EXPECT_EQ(open(disk).get_tensor("b").data<std::uint8_t>()[0], 'f');
  disk.remove_file("run/m.data-00001-of-00002");
  EXPECT_NE(message_of<DataLossError>([&] { open(disk); }).find("run/m.data-00001-of-00002"), std::string::npos);
}

TEST(BundleReader, SaysThatAFileOfACheckpointIsNotItsPath) {
  testing::MemoryFileSystem disk;
  BundleWriter writer("run/model.ckpt-3", {.file_system = &disk});
  writer.add("weights", Tensor(1.0F));
  writer.finish();
  for (const std::string end : {".index", ".meta", ".data-00000-of-00001", ".data-00013-of-00020"}) {
    try {
      const BundleReader reader("run/model.ckpt-3" + end, {.file_system = &disk});
      FAIL() << end;
    } catch (const NotFoundError& error) {
      EXPECT_EQ(error.what(), "there is no checkpoint run/model.ckpt-3" + end +
                                  ": that names a file of one; give its path without " + end);
    }
  }
}

TEST(BundleReader, AMissingCheckpointIsNotFound) {
  MemoryFileSystem disk;
  EXPECT_NE(message_of<NotFoundError>([&] { open(disk); }).find(kIndex), std::string::npos);
}

TEST(BundleReader, AnUnknownTensorIsNotFoundAndOthersAreNamed) {
  MemoryFileSystem disk;
  write(disk, {{"dense/kernel", 1.0f}, {"dense/bias", 1.0f}});
  const BundleReader reader = open(disk);
  const auto ask = [&](const char* name) {
    return message_of<NotFoundError>([&] { static_cast<void>(reader.get_tensor(name)); });
  };
  EXPECT_NE(ask("hidden/kernel").find("names like it are: dense/kernel"), std::string::npos);
  EXPECT_NE(ask("x").find("it holds: dense/bias, dense/kernel"), std::string::npos);
}

TEST(BundleReader, RefusesEveryTruncationOfTheIndex) {
  MemoryFileSystem disk;
  write(disk, all_dtypes());
  const std::string index = disk.contents(kIndex);
  for (std::size_t size = 0; size < index.size(); ++size) {
    disk.write_file(kIndex, index.substr(0, size));
    EXPECT_NE(message_of<DataLossError>([&] { open(disk); }).find(kIndex), std::string::npos) << size;
  }
}

TEST(BundleReader, RefusesEveryFlippedBitOfTheIndex) {
  MemoryFileSystem disk;
  write(disk, {{"names", Tensor::of<std::string>({"ab", "c"})}, {"w", Tensor::of<float>({1, 2})}});
  const std::string index = disk.contents(kIndex);
  for (std::size_t bit = 0; bit < 8 * index.size(); ++bit) {
    disk.write_file(kIndex, flipped(index, bit));
    EXPECT_NE(message_of<DataLossError>([&] { open(disk).verify(); }).find("run/m"), std::string::npos) << bit;
  }
}

TEST(BundleReader, RefusesEveryTruncationOfTheDataWhenOpened) {
  MemoryFileSystem disk;
  write(disk, all_dtypes());
  const std::string data = disk.contents(kData);
  for (std::size_t size = 0; size < data.size(); ++size) {
    disk.write_file(kData, data.substr(0, size));
    EXPECT_NE(message_of<DataLossError>([&] { open(disk); }).find(kData), std::string::npos) << size;
  }
  disk.remove_file(kData);
  EXPECT_NE(message_of<DataLossError>([&] { open(disk); }).find(kData), std::string::npos);
}

TEST(BundleReader, EveryFlippedBitOfTheDataFailsItsTensorOnly) {
  MemoryFileSystem disk;
  write(disk, all_dtypes());
  const std::string data = disk.contents(kData);
  const BundleReader sound = open(disk);
  for (std::size_t bit = 0; bit < 8 * data.size(); ++bit) {
    disk.write_file(kData, flipped(data, bit));
    const BundleReader reader = open(disk);
    for (const auto& item : sound.entries()) {
      const std::string& name = item.first;
      const BundleEntry& entry = item.second;
      const bool hit = bit / 8 >= entry.offset && bit / 8 < entry.offset + entry.size;
      const std::string message = message_of<DataLossError>([&] { static_cast<void>(reader.get_tensor(name)); });
      const bool named =
          message.find(kData) != std::string::npos && message.find("tensor " + name) != std::string::npos;
      EXPECT_EQ(named, hit) << bit << ": " << message;
    }
  }
}

TEST(BundleReader, RefusesStringsWhoseLengthsDoNotFitThoughTheChecksumDoes) {
  MemoryFileSystem disk;
  const auto store = [&](const std::string& lengths, std::uint32_t crc_of_lengths, const std::string& characters) {
    std::string data = lengths;
    detail::append_fixed(data, crc32c::mask(crc_of_lengths));
    const std::uint32_t crc = crc32c::extend(crc_of_lengths, data.substr(lengths.size()) + characters);
    data += characters;
    const BundleEntry entry{
        .dtype = DType::String, .shape = Shape{1}, .size = data.size(), .crc32c = crc32c::mask(crc)};
    write_by_hand(disk, {{"s", detail::encode_bundle_entry(entry)}}, {data});
  };
  store("\x02", detail::extend_over_length(0, 2), "ab");
  EXPECT_EQ(open(disk).get_tensor("s").data<std::string>()[0], "ab");
  store("\x03", detail::extend_over_length(0, 3), "ab");
  EXPECT_THROW(open(disk).verify(), DataLossError);
  store("\x01", detail::extend_over_length(0, 1), "ab");
  EXPECT_THROW(open(disk).verify(), DataLossError);
  store(std::string(9, '\xff') + "\x01", detail::extend_over_length(0, ~0ull), "ab");
  EXPECT_THROW(open(disk).verify(), DataLossError);
}

TEST(BundleReader, RefusesBooleansThatAreNone) {
  MemoryFileSystem disk;
  const std::string data = "\x02";
  const BundleEntry entry{.dtype = DType::Bool, .size = 1, .crc32c = crc32c::mask(crc32c::value(data))};
  write_by_hand(disk, {{"b", detail::encode_bundle_entry(entry)}}, {data});
  EXPECT_THROW(open(disk).verify(), DataLossError);
}

TEST(BundleReader, RefusesOffsetsBeyondAnyFile) {
  MemoryFileSystem disk;
  const BundleEntry entry{.dtype = DType::UInt8, .offset = 0x7fffffffffffffff, .size = 1, .crc32c = 1};
  write_by_hand(disk, {{"b", detail::encode_bundle_entry(entry)}}, {"x"});
  EXPECT_THROW(open(disk), DataLossError);
}

TEST(BundleReader, WantsAHeader) {
  MemoryFileSystem disk;
  disk.write_file(kData, "");
  detail::TableWriter headless;
  headless.add("w", detail::encode_bundle_entry({.dtype = DType::Float, .shape = Shape{0}}));
  disk.write_file(kIndex, headless.finish());
  EXPECT_THROW(open(disk), DataLossError);
  disk.write_file(kIndex, detail::TableWriter().finish());
  EXPECT_THROW(open(disk), DataLossError);
}

TEST(BundleReader, SaysOfForeignTensorsThatTheyCannotBeReadAndReadsTheRest) {
  MemoryFileSystem disk;
  const std::string data(12, '\0');
  const std::string entry =
      detail::encode_bundle_entry({.dtype = DType::Float,
                                   .shape = Shape{3},
                                   .size = 12,
                                   .crc32c = crc32c::mask(crc32c::value(std::string_view(data)))});
  const std::string variant = std::string("\x08\x15\x12\x00\x28\x01", 6);
  write_by_hand(disk, {{"iterator", variant}, {"w", entry}}, {data});
  const BundleReader reader = open(disk);
  EXPECT_EQ(reader.entries().size(), 2u);
  EXPECT_NE(message_of<UnimplementedError>([&] { static_cast<void>(reader.get_tensor("iterator")); }).find("variant"),
            std::string::npos);
  EXPECT_NO_THROW(reader.verify());
}

/// A matrix of 7 rows and 3 columns, 0 to 20, and rows of it.
Tensor matrix(std::int64_t first = 0, std::int64_t rows = 7) {
  Tensor tensor(DType::Int64, Shape{rows, 3});
  std::int64_t value = 3 * first;
  for (std::int64_t& element : tensor.overwrite_data<std::int64_t>()) element = value++;
  return tensor;
}

void write_in_three_slices(MemoryFileSystem& disk, std::uint64_t shard_bytes = 0) {
  BundleWriter writer("run/m", {.file_system = &disk, .overwrite = true, .shard_bytes = shard_bytes});
  writer.add_slice("p", Shape{7, 3}, {{0, 3}, {0, 3}}, matrix(0, 3));
  writer.add_slice("p", Shape{7, 3}, {{3, 2}, {0, 3}}, matrix(3, 2));
  writer.add("other", 1.0f);
  writer.add_slice("p", Shape{7, 3}, {{5, 2}, {}}, matrix(5, 2));
  writer.finish();
}

TEST(BundleReader, JoinsThreeSlicesAndReadsThemAsTwo) {
  for (const std::uint64_t shard_bytes : {0u, 80u}) {
    MemoryFileSystem disk;
    write_in_three_slices(disk, shard_bytes);
    const BundleReader reader = open(disk);
    EXPECT_EQ(disk.exists("run/m.data-00001-of-00002"), shard_bytes > 0);
    EXPECT_EQ(reader.entries().size(), 2u);
    EXPECT_EQ(reader.entry("p").shape, (Shape{7, 3}));
    EXPECT_EQ(reader.entry("p").slices.size(), 3u);
    EXPECT_EQ(reader.get_tensor("p"), matrix());
    EXPECT_EQ(reader.get_tensor("p", TensorSlice::parse("0,4:-")), matrix(0, 4));
    EXPECT_EQ(reader.get_tensor("p", TensorSlice::parse("4,3:0,3")), matrix(4, 3));
    EXPECT_EQ(reader.get_tensor("p", {{3, 2}, {0, 3}}), matrix(3, 2));
    EXPECT_EQ(reader.get_tensor("p", {{2, 2}, {1, 1}}), Tensor::of<std::int64_t>({7, 10}, {2, 1}));
    EXPECT_NO_THROW(reader.verify());
  }
}

TEST(BundleReader, ReadsARegionOfATensorThatWasStoredWhole) {
  MemoryFileSystem disk;
  write(disk, {{"m", matrix()}, {"s", Tensor::of<std::string>({"a", "b", "c"})}, {"x", 2.0f}});
  const BundleReader reader = open(disk);
  EXPECT_EQ(reader.get_tensor("m", {{2, 3}, {}}), matrix(2, 3));
  EXPECT_EQ(reader.get_tensor("s", {{1, 2}}), Tensor::of<std::string>({"b", "c"}));
  EXPECT_EQ(reader.get_tensor("x", TensorSlice()), Tensor(2.0f));
}

TEST(BundleReader, JoinsSlicesOfEveryDTypeInThreeDimensions) {
  for (const NamedTensor& entry : all_dtypes()) {
    MemoryFileSystem disk;
    BundleWriter writer("run/m", {.file_system = &disk});
    Tensor element = entry.tensor;
    if (element.num_elements() == 0) continue;
    const bool is_string = element.dtype() == DType::String;
    Tensor whole(element.dtype(), Shape{2, 4, 3});
    Tensor pieces[2] = {Tensor(element.dtype(), Shape{2, 1, 3}), Tensor(element.dtype(), Shape{2, 3, 3})};
    if (is_string) {
      for (std::size_t i = 0; i < 24; ++i) {
        const std::string text = std::string(i, 'x');
        whole.mutable_data<std::string>()[i] = text;
        const std::size_t row = i / 3 % 4;
        (row == 0 ? pieces[0].mutable_data<std::string>()[i / 12 * 3 + i % 3]
                  : pieces[1].mutable_data<std::string>()[i / 12 * 9 + (row - 1) * 3 + i % 3]) = text;
      }
    } else {
      const std::size_t size = dtype_size(element.dtype());
      for (std::size_t i = 0; i < 24 * size; ++i) {
        const auto value = element.dtype() == DType::Bool ? std::byte(i % 2) : std::byte(7 * i);
        whole.mutable_bytes()[i] = value;
        const std::size_t row = i / (3 * size) % 4;
        const std::size_t in_row = i % (3 * size);
        (row == 0 ? pieces[0].mutable_bytes()[i / (12 * size) * 3 * size + in_row]
                  : pieces[1].mutable_bytes()[i / (12 * size) * 9 * size + (row - 1) * 3 * size + in_row]) = value;
      }
    }
    writer.add_slice("p", whole.shape(), {{}, {1, 3}, {}}, pieces[1]);
    writer.add_slice("p", whole.shape(), {{}, {0, 1}, {}}, pieces[0]);
    writer.finish();
    EXPECT_EQ(open(disk).get_tensor("p"), whole) << entry.name;
    EXPECT_EQ(open(disk).get_tensor("p", {{0, 2}, {1, 3}, {}}), pieces[1]) << entry.name;
  }
}

TEST(BundleReader, SaysWhichElementsOfAPartitionedVariableWereNotSaved) {
  MemoryFileSystem disk;
  const std::string data(24, '\1');
  const std::uint32_t crc = crc32c::mask(crc32c::value(std::string_view(data)));
  const TensorSlice slice{{3, 2}, {}};
  const std::string piece =
      detail::encode_bundle_entry({.dtype = DType::Float, .shape = Shape{2, 3}, .size = 24, .crc32c = crc});
  const std::string summary =
      detail::encode_bundle_entry({.dtype = DType::Float, .shape = Shape{7, 3}, .slices = {slice}});
  write_by_hand(disk, {{detail::slice_key("p", slice), piece}, {"p", summary}}, {data});
  const BundleReader reader = open(disk);
  EXPECT_NO_THROW(reader.verify());
  EXPECT_EQ(reader.get_tensor("p", {{4, 1}, {}}).shape(), (Shape{1, 3}));
  EXPECT_EQ(message_of<NotFoundError>([&] { static_cast<void>(reader.get_tensor("p")); }),
            "checkpoint run/m holds 6 of the 21 elements of tensor p[7,3] slice -:-; it was saved without some of its "
            "1 slices "
            "(the first is 3,2:-): save them all, or read a region that they have");
  EXPECT_NE(message_of<NotFoundError>([&] {
              static_cast<void>(reader.get_tensor("p", {{4, 2}, {}}));
            }).find("holds 3 of the 6"),
            std::string::npos);
  EXPECT_EQ(
      message_of<InvalidArgumentError>([&] {
        static_cast<void>(reader.get_tensor("p", {{6, 2}, {}}));
      }),
      "tensor p of checkpoint run/m: slice \"6,2:-\" of a tensor of shape [7,3] ends at 8 in dimension 0, which has 7");
}

TEST(BundleReader, RefusesSlicesThatContradictTheirTensor) {
  const auto complaint = [](const std::vector<TensorSlice>& slices,
                            const std::vector<std::pair<TensorSlice, BundleEntry>>& pieces) {
    MemoryFileSystem disk;
    std::map<std::string, std::string> entries;
    for (const auto& [slice, piece] : pieces)
      entries[detail::slice_key("p", slice)] = detail::encode_bundle_entry(piece);
    entries["p"] = detail::encode_bundle_entry({.dtype = DType::UInt8, .shape = Shape{4}, .slices = slices});
    write_by_hand(disk, {entries.begin(), entries.end()}, {"abcd"});
    const std::string message = message_of<DataLossError>([&] { open(disk); });
    EXPECT_TRUE(message.starts_with("checkpoint run/m.index is damaged: tensor p")) << message;
    return message;
  };
  const BundleEntry two{.dtype = DType::UInt8, .shape = Shape{2}, .size = 2, .crc32c = 0};
  const TensorSlice first{{0, 2}};
  const TensorSlice middle{{1, 2}};
  EXPECT_NE(complaint({first, middle}, {{first, two}, {middle, two}}).find("overlap: 0,2 and 1,2"), std::string::npos);
  EXPECT_NE(complaint({first, first}, {{first, two}}).find("overlap: 0,2 and 0,2"), std::string::npos);
  EXPECT_NE(complaint({first, {{2, 2}}}, {{first, two}, {{{2, 2}}, two}}).find("slices that share bytes"),
            std::string::npos);
  EXPECT_NE(complaint({first, {{2, 2}}}, {{first, two}}).find("no entry for its slice 2,2"), std::string::npos);
  EXPECT_NE(complaint({{{0, 3}}}, {{{{0, 3}}, two}}).find("another dtype or shape for its slice 0,3"),
            std::string::npos);
  EXPECT_NE(complaint({first}, {{first, {.dtype = DType::Int8, .shape = Shape{2}, .size = 2}}}).find("another dtype"),
            std::string::npos);
  EXPECT_NE(complaint({first}, {{first, {.dtype = DType::UInt8, .shape = Shape{2}, .slices = {{{0, 1}}}}}})
                .find("another dtype"),
            std::string::npos);
}

TEST(BundleReader, AFlippedBitOfASliceFailsThatSliceByName) {
  MemoryFileSystem disk;
  write_in_three_slices(disk);
  disk.write_file(kData, flipped(disk.contents(kData), 8 * 80));
  const BundleReader reader = open(disk);
  EXPECT_NE(message_of<DataLossError>([&] {
              static_cast<void>(reader.get_tensor("p"));
            }).find("tensor p slice 3,2:0,3 at byte 72"),
            std::string::npos);
  EXPECT_THROW(reader.verify(), DataLossError);
  EXPECT_EQ(reader.get_tensor("p", {{0, 3}, {}}), matrix(0, 3));
}

TEST(BundleReader, KeepsReadingACheckpointThatIsPrunedMeanwhile) {
  MemoryFileSystem disk;
  write(disk, {{"w", 3.0f}});
  const BundleReader reader = open(disk);
  disk.remove_file(kIndex);
  disk.remove_file(kData);
  EXPECT_EQ(reader.get_tensor("w").scalar<float>(), 3.0f);
}

}  // namespace
}  // namespace trainhook
