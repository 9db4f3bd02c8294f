// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checkpoints that TensorFlow wrote: each read, and each damaged in every way.
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>

#include <complex>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/tables.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"
#include "data_files.hpp"
#include "expect_error.hpp"
#include "packed_table.hpp"

namespace trainhook {
namespace {

using testing::data_file;

BundleReader open(const std::string& name) { return BundleReader(data_file(name)); }

/// 0, 1, 2 and so on.
template <class T>
Tensor counted(const Shape& shape) {
  Tensor tensor(dtype_of<T>, shape);
  int next = 0;
  for (T& element : tensor.overwrite_data<T>()) element = static_cast<T>(next++);
  return tensor;
}

TEST(BundleReaderOfTensorFlow, ReadsEveryDType) {
  const BundleReader reader = open("every_dtype");
  const Shape shape{2, 3};
  const std::map<std::string, Tensor> expected = {
      {"dtypes/bfloat16", Tensor::of<BFloat16>({{0}, {0x3f80}, {0x4000}, {0x4040}, {0x4080}, {0x40a0}}, shape)},
      {"dtypes/bool", Tensor::of<bool>({true, false, true})},
      {"dtypes/complex128", Tensor::of<std::complex<double>>({0, 1, 2, 3, 4, 5}, shape)},
      {"dtypes/complex64", Tensor::of<std::complex<float>>({0, 1, 2, 3, 4, 5}, shape)},
      {"dtypes/double", counted<double>(shape)},
      {"dtypes/float", counted<float>(shape)},
      {"dtypes/half", Tensor::of<Half>({{0}, {0x3c00}, {0x4000}, {0x4200}, {0x4400}, {0x4500}}, shape)},
      {"dtypes/int16", counted<std::int16_t>(shape)},
      {"dtypes/int32", counted<std::int32_t>(shape)},
      {"dtypes/int64", counted<std::int64_t>(shape)},
      {"dtypes/int8", counted<std::int8_t>(shape)},
      {"dtypes/string", Tensor::of<std::string>({"", "ab", std::string(300, 'x'), std::string("\0\n\xff", 3)}, {2, 2})},
      {"dtypes/uint16", counted<std::uint16_t>(shape)},
      {"dtypes/uint32", counted<std::uint32_t>(shape)},
      {"dtypes/uint64", counted<std::uint64_t>(shape)},
      {"dtypes/uint8", counted<std::uint8_t>(shape)},
      {"empty", Tensor(DType::Float, Shape{0, 3})},
      {"größe/日本", Tensor(0.5F)},
      {"scalar", Tensor(std::int64_t{1} << 40)}};
  EXPECT_EQ(reader.entries().size(), expected.size());
  for (const auto& [name, tensor] : expected) EXPECT_EQ(reader.get_tensor(name), tensor) << name;
}

TEST(BundleReaderOfTensorFlow, ReadsAModelWithItsSlots) {
  const BundleReader reader = open("model.ckpt-3");
  EXPECT_EQ(reader.get_tensor("global_step").scalar<std::int64_t>(), 3);
  // Three steps with gradient 1, rate 0.25 and momentum 0.5: 1, 1.5 and 1.75 are accumulated.
  EXPECT_EQ(reader.get_tensor("b"), Tensor::of<float>({-1.0625F, -1.0625F, -1.0625F}));
  EXPECT_EQ(reader.get_tensor("b/Momentum"), Tensor::of<float>({1.75F, 1.75F, 1.75F}));
  EXPECT_EQ(reader.get_tensor("w").data<float>()[5], 5 - 1.0625F);
  EXPECT_EQ(reader.entry("w/Momentum").shape, (Shape{2, 3}));
}

TEST(BundleReaderOfTensorFlow, JoinsPartitionedVariablesAndCutsThemAgain) {
  const BundleReader reader = open("partitioned");
  EXPECT_EQ(reader.entries().size(), 3U);
  const std::vector<TensorSlice> slices = {{{0, 3}, {0, 2}}, {{3, 2}, {0, 2}}, {{5, 2}, {0, 2}}};
  EXPECT_EQ(reader.entry("rows").slices, slices);
  EXPECT_EQ(reader.get_tensor("rows"), counted<float>({7, 2}));
  EXPECT_EQ(reader.get_tensor("columns"), counted<float>({2, 6}));
  EXPECT_EQ(reader.get_tensor("whole"), counted<float>({3}));
  EXPECT_EQ(reader.get_tensor("rows", TensorSlice::parse("2,2:-")), Tensor::of<float>({4, 5, 6, 7}, {2, 2}));
  EXPECT_EQ(reader.get_tensor("rows", slices[1]), Tensor::of<float>({6, 7, 8, 9}, {2, 2}));
  EXPECT_EQ(reader.get_tensor("columns", {{1, 1}, {1, 3}}), Tensor::of<float>({7, 8, 9}, {1, 3}));
}

TEST(BundleReaderOfTensorFlow, JoinsSlicesThatLieInSeveralShards) {
  const BundleReader reader = open("sharded");
  EXPECT_EQ(reader.get_tensor("first"), counted<float>({2}));
  EXPECT_EQ(reader.get_tensor("second"), counted<std::int64_t>({5}));
  EXPECT_EQ(reader.entry("second").shard_id, 1U);
  EXPECT_EQ(reader.get_tensor("grid"), counted<std::int32_t>({4, 6}));
  EXPECT_EQ(reader.get_tensor("grid", {{1, 2}, {3, 2}}), Tensor::of<std::int32_t>({9, 10, 15, 16}, {2, 2}));
  EXPECT_EQ(reader.get_tensor("strings"), Tensor::of<std::string>({"a", "bb", "ccc"}));
}

TEST(BundleReaderOfTensorFlow, NamesEachTensorThatIsNotHeldHereAndReadsTheOthers) {
  const BundleReader reader = open("other_tensors");
  std::map<std::string, std::string> found;
  for (const auto& [name, entry] : reader.entries()) {
    if (!entry.unsupported) continue;
    found[name] = entry.unsupported->dtype + entry.unsupported->shape;
    testing::expect_error<UnimplementedError>(
        {"tensor " + name + " of checkpoint", "cannot be read: it is " + found[name] + ", and this library has no"},
        [&, tensor = name] { static_cast<void>(reader.get_tensor(tensor)); });
  }
  std::map<std::string, std::string> expected = {{"deep", "float32[1,1,2,1,1,3,1,1,1,1]"}, {"variant", "variant[]"}};
  for (const std::string dtype :
       {"float8_e4m3fn", "float8_e5m2", "int4", "qint16", "qint32", "qint8", "quint16", "quint8"})
    expected[dtype] = dtype + "[2,3]";
  EXPECT_EQ(found, expected);
  EXPECT_EQ(reader.get_tensor("whole"), counted<float>({3}));
  EXPECT_NO_THROW(reader.verify());
}

TEST(BundleReaderOfTensorFlow, ReadsAnIndexThatIsPacked) {
  testing::MemoryFileSystem disk;
  const BundleReader plain = open("partitioned");
  const std::string data = ".data-00000-of-00001";
  const std::string index = read_file(posix_file_system(), data_file("partitioned.index"));
  disk.write_file("packed" + data, read_file(posix_file_system(), data_file("partitioned" + data)));
  disk.write_file("packed.index", support::packed_table(index));
  const BundleReader packed("packed", {.file_system = &disk});
  EXPECT_EQ(packed.entries().size(), plain.entries().size());
  for (const auto& [name, entry] : plain.entries()) EXPECT_EQ(packed.get_tensor(name), plain.get_tensor(name)) << name;

  disk.write_file("packed.index", support::packed_table(index, 2));
  testing::expect_error<UnimplementedError>({"packed.index is of a format that is not read here", "zstd"},
                                            [&] { BundleReader("packed", {.file_system = &disk}); });
}

/// Damages each file of a checkpoint in turn; all of its tensors and the slices of partitioned ones are read each time.
void damage(const std::string& name) {
  const std::string prefix = "run/" + name;
  const BundleReader sound = open(name);
  testing::MemoryFileSystem disk;
  std::vector<std::string> suffixes = {".index"};
  for (const std::string& path : posix_file_system().list_directory(data_file(""))) {
    if (path.starts_with(name + ".data")) suffixes.push_back(path.substr(name.size()));
  }
  for (const std::string& suffix : suffixes)
    disk.write_file(prefix + suffix, read_file(posix_file_system(), data_file(name + suffix)));
  for (const std::string& suffix : suffixes) {
    const std::string contents = disk.contents(prefix + suffix);
    testing::expect_refused_or_same(contents, prefix, [&](const std::string& damaged) {
      disk.write_file(prefix + suffix, damaged);
      const BundleReader reader(prefix, {.file_system = &disk});
      std::map<std::string, Tensor> tensors;
      for (const auto& [tensor, entry] : reader.entries()) tensors[tensor] = reader.get_tensor(tensor);
      reader.verify();
      return tensors;
    });
    disk.write_file(prefix + suffix, contents);
  }
}

TEST(BundleReaderOfTensorFlow, NeverTakesDamageForDataInEveryDType) { damage("every_dtype"); }
TEST(BundleReaderOfTensorFlow, NeverTakesDamageForDataInAModel) { damage("model.ckpt-3"); }
TEST(BundleReaderOfTensorFlow, NeverTakesDamageForDataInPartitionedVariables) { damage("partitioned"); }
TEST(BundleReaderOfTensorFlow, NeverTakesDamageForDataInShards) { damage("sharded"); }
TEST(BundleReaderOfTensorFlow, NeverTakesDamageForDataInAnObjectBasedCheckpoint) { damage("object_based"); }

/// A table with the same entries but one, whose value is given: the checksums fit, so that only what the value says can
/// give it away.
std::string with_value(const std::string& index, const std::string& key, const std::string& value) {
  detail::TableWriter table;
  detail::TableReader(index, "whole").for_each([&](std::string_view name, std::string_view old) {
    table.add(name, name == key ? value : old);
  });
  return table.finish();
}

TEST(BundleReaderOfTensorFlow, AnyEntryWithAFlippedBitIsAnErrorOrIsReadThoughAllChecksumsFit) {
  for (const char* name : {"every_dtype", "partitioned", "sharded"}) {
    testing::MemoryFileSystem disk;
    for (const std::string& path : posix_file_system().list_directory(data_file(""))) {
      if (path.starts_with(std::string(name) + "."))
        disk.write_file("run/" + path, read_file(posix_file_system(), data_file(path)));
    }
    const std::string prefix = std::string("run/") + name;
    const std::string index = disk.contents(prefix + ".index");
    detail::TableReader(index, "whole").for_each([&](std::string_view key, std::string_view value) {
      testing::expect_refused_or_read(std::string(value), prefix, [&](const std::string& damaged) {
        disk.write_file(prefix + ".index", with_value(index, std::string(key), damaged));
        const BundleReader reader(prefix, {.file_system = &disk});
        for (const auto& [tensor, entry] : reader.entries()) {
          if (!entry.unsupported) static_cast<void>(reader.get_tensor(tensor));
        }
        return true;
      });
    });
  }
}

}  // namespace
}  // namespace trainhook
