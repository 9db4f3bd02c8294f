// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of batches of events.
#include <trainhook/events/event_queue.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/records.hpp>

namespace trainhook {
namespace {

std::string records_of(const detail::EventBatch& batch) {
  std::string records;
  batch.append_records(records);
  return records;
}

std::string record_of(const std::string& event) {
  std::string record;
  detail::append_record(record, event);
  return record;
}

TEST(EventBatch, FramesEncodedEventsAndHistogramsInOrder) {
  detail::EventBatch batch;
  batch.add_encoded([](std::string& bytes) { bytes += "first"; });
  batch.add_histogram({.wall_time = 1.5, .step = 3, .tag = "w", .values = Tensor::of<float>({1, 2})});
  batch.add_encoded([](std::string& bytes) { bytes += "last"; });
  EXPECT_EQ(batch.size(), 3U);
  EXPECT_EQ(batch.byte_size(), 5U + 8U + 4U);
  std::string histogram;
  detail::append_event(histogram,
                       {.wall_time = 1.5,
                        .step = 3,
                        .summary = histogram_summary("w", std::span<const float>(std::vector<float>{1, 2}))});
  EXPECT_EQ(records_of(batch), record_of("first") + record_of(histogram) + record_of("last"));
}

TEST(EventBatch, KeepsNoTraceOfAnEventThatFailedHalfWay) {
  detail::EventBatch batch;
  batch.add_encoded([](std::string& bytes) { bytes += "first"; });
  const auto fail = [](std::string& bytes) {
    bytes += "half";
    throw InvalidArgumentError("no tag");
  };
  EXPECT_THROW(batch.add_encoded(fail), InvalidArgumentError);
  batch.add_encoded([](std::string& bytes) { bytes += "last"; });
  EXPECT_EQ(records_of(batch), record_of("first") + record_of("last"));
}

TEST(EventBatch, GivesBackTheMemoryOfALargeEvent) {
  std::string bytes(std::size_t{5} << 20, 'x');
  detail::clear_events(bytes);
  EXPECT_TRUE(bytes.empty());
  EXPECT_LT(bytes.capacity(), 100U);
  bytes.assign(1000, 'x');
  detail::clear_events(bytes);
  EXPECT_TRUE(bytes.empty());
  EXPECT_GE(bytes.capacity(), 1000U);
}

TEST(EventBatch, IsEmptyOnceCleared) {
  detail::EventBatch batch;
  batch.add_encoded([](std::string& bytes) { bytes += std::string(8U << 20, 'x'); });
  batch.add_histogram({.tag = "w", .values = Tensor::of<float>({1, 2})});
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.byte_size(), 0U);
  EXPECT_EQ(records_of(batch), "");
}

}  // namespace
}  // namespace trainhook
