// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checkpoints alone, with the one header that a program includes for them.
#include <trainhook/checkpoint/tensor_bundle.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/tables.hpp>

#include "temporary_folder.hpp"

namespace trainhook {
namespace {

TEST(TensorBundle, IsWrittenAndReadOnTheMachinesDisk) {
  const support::TemporaryFolder folder;
  const std::string prefix = folder.file("run/model.ckpt-100");
  {
    BundleWriter writer(prefix);
    writer.add("weights", Tensor::of<float>({1, 2, 3}));
    writer.finish();
  }
  const CheckpointReader reader(prefix);
  EXPECT_EQ(reader.get_tensor("weights"), Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(posix_file_system().list_directory(folder.file("run")).size(), 2u);
}

TEST(TensorBundle, ReadsTheEndOfATensorOfFiveGibibytesOfWhichMostIsAHole) {
  constexpr std::int64_t kSize = std::int64_t{5} << 30;
  const support::TemporaryFolder folder;
  const std::string prefix = folder.file("m");
  const std::string data = detail::bundle_data_path(prefix, 0, 1);
  std::ofstream(data).close();
  std::filesystem::resize_file(data, kSize - 4);
  std::ofstream(data, std::ios::app) << "tail";
  const TensorSlice hole{{0, kSize - 4}};
  const TensorSlice tail{{kSize - 4, 4}};
  const auto entry = [](const Shape& shape, std::uint64_t offset, std::string_view bytes) {
    return detail::encode_bundle_entry({.dtype = DType::UInt8,
                                        .shape = shape,
                                        .offset = offset,
                                        .size = static_cast<std::uint64_t>(shape.num_elements()),
                                        .crc32c = crc32c::mask(crc32c::value(bytes))});
  };
  detail::TableWriter table;
  table.add("", detail::encode_bundle_header(1));
  table.add(detail::slice_key("huge", hole), entry(Shape{kSize - 4}, 0, ""));
  table.add(detail::slice_key("huge", tail), entry(Shape{4}, kSize - 4, "tail"));
  table.add("huge",
            detail::encode_bundle_entry({.dtype = DType::UInt8, .shape = Shape{kSize}, .slices = {hole, tail}}));
  table.add("small", entry(Shape{2}, kSize - 3, "ai"));
  std::ofstream(detail::bundle_index_path(prefix)) << table.finish();
  const BundleReader reader(prefix);
  EXPECT_EQ(reader.get_tensor("huge", {{kSize - 3, 2}}), Tensor::of<std::uint8_t>({'a', 'i'}));
  EXPECT_EQ(reader.get_tensor("small"), Tensor::of<std::uint8_t>({'a', 'i'}));
}

}  // namespace
}  // namespace trainhook
