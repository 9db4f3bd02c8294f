// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes safetensors files, alone and as the shard of an index.
#include "fuzz.hpp"

#include <cstdint>

#include <fmt/format.h>

#include <trainhook/core/coding.hpp>
#include <trainhook/exchange/safetensors_reader.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::testing::MemoryFileSystem disk;
  const bool is_sharded = input.choice(2) == 1;
  if (is_sharded) disk.write_file("m.index.json", std::string(input.until(kNextFile)));
  // The length is that of the header in most inputs, or nothing behind it would be reached.
  const bool is_counted = input.choice(8) != 0;
  std::string file;
  if (is_counted) {
    const std::string_view header = input.until("\n");
    th::detail::append_fixed(file, std::uint64_t{header.size()});
    file += header;
  }
  disk.write_file(is_sharded ? "1" : "m", file.append(input.rest()));
  const th::SafetensorsReader reader("m", {.file_system = &disk});
  for (const auto& [name, entry] : reader.entries()) {
    try {
      static_cast<void>(reader.get_tensor(name));
      static_cast<void>(reader.get_tensor(name, th::TensorSlice::all_of(entry.shape.rank())));
    } catch (const th::DataLossError&) {  // the next tensor may be whole
    } catch (const th::UnimplementedError&) {}
  }
}

std::vector<std::string> fuzz::seeds() {
  using namespace std::string_literals;
  const std::string whole =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BOOL","shape":[2],"data_offsets":[8,10]},"c":{"dtype":"F4","shape":[2],"data_offsets":[10,11]}})"
      "\n12345678\0\1x"s;
  return {
      "\0\1"s + whole, "\0\0\2\0\0\0\0\0\0\0{}"s,
      fmt::format("\1{}{}\1{}", R"({"metadata":{"total_size":11},"weight_map":{"a":"1","b":"1"}})", kNextFile, whole)};
}
