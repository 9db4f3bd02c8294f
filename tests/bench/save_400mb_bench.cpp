// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saving 400 MB until they are on the disk, beside TensorFlow's save, which leaves them to the system, and a plain
/// synced write; and a loop's parts of tensors, which are saved from where they are.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/loop/loop_session.hpp>

#include "folder.hpp"
#include "plain_write.hpp"
#include "record.hpp"

namespace th = trainhook;

int main() {
  constexpr int kParts = 8;
  constexpr std::int64_t kElements = 12'500'000;
  const th::bench::Folder folder("save");
  std::vector<th::Tensor> parts;
  for (int i = 0; i < kParts; ++i) {
    parts.emplace_back(th::DType::Float, th::Shape{kElements});
    float value = 0;
    for (float& element : parts.back().overwrite_data<float>()) element = value += 0.125F;
  }

  std::vector<std::vector<float>> memory;
  th::LoopSession loop;
  for (const th::Tensor& part : parts) memory.emplace_back(part.data<float>().begin(), part.data<float>().end());
  for (int i = 0; i < kParts; ++i)
    loop.variable("part" + std::to_string(i), memory[static_cast<std::size_t>(i)],
                  {.part_of = {.shape = {kParts * kElements}, .offset = {i * kElements}, .name = "field"}});

  th::bench::TensorFlow tensorflow("save_400mb");
  constexpr double kGigabytes = 1e-9 * kParts * kElements * sizeof(float);
  std::vector<double> ours, of_loop, plain;
  for (int round = 0; round < 7; ++round) {
    const std::string directory = folder.file("round" + std::to_string(round));
    const double elapsed = th::bench::seconds([&] {
      th::BundleWriter writer(directory + "/model.ckpt");
      for (std::size_t i = 0; i < parts.size(); ++i) writer.add("part" + std::to_string(i), parts[i]);
      writer.finish();
    });
    ours.push_back(kGigabytes / elapsed);
    std::filesystem::remove_all(directory);
    th::Saver saver;
    of_loop.push_back(kGigabytes / th::bench::seconds([&] { saver.save(loop, {.save_path = directory + "/loop"}); }));
    std::filesystem::remove_all(directory);
    const std::string path = folder.file("plain");
    plain.push_back(kGigabytes / th::bench::seconds([&] { th::bench::write_plainly(path, parts); }));
    std::filesystem::remove(path);
    tensorflow.measure();
  }
  th::bench::report({.name = "save_400mb_disk",
                     .ours = th::bench::median(ours),
                     .peer = th::bench::median(plain),
                     .peer_name = "plain write and fsync",
                     .unit = "GB/s",
                     .goal = 0.9,
                     .more_is_better = true});
  th::bench::report({.name = "save_400mb_parts",
                     .ours = th::bench::median(of_loop),
                     .peer = th::bench::median(plain),
                     .peer_name = "plain write and fsync",
                     .unit = "GB/s",
                     .goal = 0.9,
                     .more_is_better = true});
  tensorflow.report(
      {.name = "save_400mb", .ours = th::bench::median(ours), .unit = "GB/s", .goal = 1, .more_is_better = true});
}
