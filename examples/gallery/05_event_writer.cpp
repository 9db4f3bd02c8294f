// SPDX-License-Identifier: Apache-2.0
// 05 Events for TensorBoard without a session. A writer takes numbers, histograms, images and texts from any thread
// and writes them in a thread of its own; the reader shows what is in the file.
//
//     build/examples/gallery/05_event_writer [directory]
//     tensorboard --logdir event-writer-run

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/media/png.hpp>

namespace th = trainhook;

/// A gray disc of 32 x 32 pixels, as a PNG file.
std::string disc(double radius) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) pixels.push_back(std::hypot(x - 16, y - 16) < radius ? 255 : 40);
  }
  return th::encode_png(pixels, 32, 32, 1);
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "event-writer-run";
  std::mt19937_64 random(7);
  {
    th::FileWriter writer(directory);
    writer.add_text("about", "Samples of a normal distribution that becomes **narrower**.", 0);
    for (std::int64_t step = 0; step < 50; ++step) {
      const double width = std::exp(-0.05 * static_cast<double>(step));
      std::vector<double> samples(1'000);
      for (double& sample : samples) sample = std::normal_distribution<double>(0, width)(random);

      writer.add_scalar("samples/width", width, step);
      writer.add_histogram("samples", samples, step);
      if (step % 10 == 0)
        writer.add_image("disc", {.height = 32, .width = 32, .channels = 1, .bytes = disc(15 * width)}, step);
    }
    writer.close();  // the destructor does so, too, but cannot throw
  }

  std::map<std::string, int> counts;
  for (const std::string& path : th::list_event_files(th::posix_file_system(), directory)) {
    for (const th::Event& event : th::read_events(th::posix_file_system(), path).events) {
      for (const th::SummaryValue& value : event.values) ++counts[value.tag];
    }
  }
  for (const auto& [tag, count] : counts) fmt::print("{}: {}\n", tag, count);
}
