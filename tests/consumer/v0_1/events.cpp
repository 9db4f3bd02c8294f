// SPDX-License-Identifier: Apache-2.0
/// @file
/// Program events of the README of version 0.1.0.
#include <vector>

#include <fmt/core.h>
#include <trainhook/events/file_writer.hpp>
namespace th = trainhook;

int main() {
  th::FileWriter writer("logs");  // encodes and writes in a thread of its own
  const std::vector<float> weights = {-1, 0, 0.5F, 2};
  for (int step = 1; step <= 10; ++step) {
    writer.add_scalar("loss", 1.0F / static_cast<float>(step), step);
    writer.add_histogram("weights", weights, step);
  }
  writer.close();
  fmt::print("10 losses in logs\n");
}
