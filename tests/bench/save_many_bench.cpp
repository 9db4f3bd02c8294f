// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saving 5,000 small variables: what names, checksums and an index of many blocks cost. With what the disk takes to
/// sync, and without.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "folder.hpp"
#include "record.hpp"

namespace th = trainhook;

namespace {

constexpr int kVariables = 5'000;

double save_millis(th::FileSystem& file_system, const std::string& prefix, const std::vector<std::string>& names,
                   const th::Tensor& value) {
  return 1e3 * th::bench::seconds([&] {
           th::BundleWriter writer(prefix, {.file_system = &file_system});
           for (const std::string& name : names) writer.add(name, value);
           writer.finish();
         });
}

}  // namespace

int main() {
  const th::bench::Folder folder("many");
  const th::Tensor value = th::Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<std::string> names;
  for (int i = 0; i < kVariables; ++i) names.push_back("model/layer" + std::to_string(100'000 + i) + "/kernel");

  std::vector<double> disk, memory;
  for (int round = 0; round < 15; ++round) {
    const std::string directory = folder.file("round" + std::to_string(round));
    disk.push_back(save_millis(th::posix_file_system(), directory + "/model.ckpt", names, value));
    std::filesystem::remove_all(directory);
    th::testing::MemoryFileSystem in_memory;
    memory.push_back(save_millis(in_memory, "run/model.ckpt", names, value));
  }
  th::bench::report({.name = "save_many",
                     .ours = th::bench::median(disk),
                     .peer = 10,
                     .peer_name = "budget",
                     .unit = "ms",
                     .goal = 1});
  th::bench::report({.name = "save_many_without_disk",
                     .ours = th::bench::median(memory),
                     .peer = 10,
                     .peer_name = "budget",
                     .unit = "ms",
                     .goal = 1});
}
