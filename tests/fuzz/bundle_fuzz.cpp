// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes checkpoints: index, data, strings and the slices of partitioned variables.
#include "fuzz.hpp"

#include <fmt/format.h>
#include <utility>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::testing::MemoryFileSystem disk;
  disk.write_file("fuzz.index", std::string(input.until(kNextFile)));
  disk.write_file("fuzz.data-00000-of-00001", std::string(input.rest()));
  const th::BundleReader reader("fuzz", {.file_system = &disk});
  for (const auto& [name, entry] : reader.entries()) {
    try {
      static_cast<void>(reader.get_tensor(name));
      static_cast<void>(reader.get_tensor(name, th::TensorSlice::all_of(entry.shape.rank())));
    } catch (const th::DataLossError&) {  // the next tensor may be whole
    } catch (const th::UnimplementedError&) {}
  }
}

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> seeds;
  for (const std::string_view name : {"every_dtype", "model.ckpt-3", "object_based", "other_tensors", "partitioned"}) {
    seeds.push_back(fmt::format("{}{}{}", data_file(fmt::format("{}.index", name)), kNextFile,
                                data_file(fmt::format("{}.data-00000-of-00001", name))));
  }
  return seeds;
}
