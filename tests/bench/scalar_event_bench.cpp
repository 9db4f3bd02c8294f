// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a scalar event costs the loop that adds it.

#include <cstdint>
#include <vector>

#include <trainhook/events/file_writer.hpp>

#include "folder.hpp"
#include "record.hpp"

int main() {
  namespace th = trainhook;
  constexpr std::int64_t kEvents = 1000;  // the queue holds more, and the writing thread is woken on the way
  const th::bench::Folder folder("events");
  th::FileWriter writer(folder.file("logs"));
  th::bench::TensorFlow tensorflow("scalar_event");
  std::vector<double> ours;
  std::int64_t step = 0;
  for (int round = 0; round < 25; ++round) {
    ours.push_back(1e6 / kEvents * th::bench::seconds([&] {
                     for (std::int64_t i = 0; i < kEvents; ++i) writer.add_scalar("loss", 0.25, ++step);
                   }));
    writer.flush();
    if (round % 2 == 0) tensorflow.measure();
  }
  const double cost = th::bench::median(ours);
  const th::bench::Record record{
      .name = "scalar_event", .ours = cost, .peer = 1, .peer_name = "budget", .unit = "us", .goal = 1};
  th::bench::report(record);
  th::bench::Record beside = record;
  beside.name = "scalar_event_tensorflow";
  tensorflow.report(beside);
}
