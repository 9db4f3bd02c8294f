// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/ranks/rank_failure.hpp>

namespace trainhook::detail {

bool RankShards::is_writing() const {
  return std::ranges::any_of(shards_, [](const auto& of) { return of.second != nullptr && of.second->is_writing(); });
}

void RankShards::begin(const ShardedSave& save, SessionRef session, FileSystem& file_system) {
  std::unique_ptr<ShardOfRank>& mine = shards_[save.suffix];
  const auto part = static_cast<std::size_t>(rank_);
  if (rank_ > 0 && part < save.num_parts()) mine = std::make_unique<ShardOfRank>(session, save, rank_, file_system);
}

// What the chief orders to be handed over: all but these.
struct ShardOrderMessage {
  std::vector<std::string> dropped_suffix{};
};
template <>
inline constexpr auto kFields<ShardOrderMessage> =
    std::tuple(field(1, "dropped_suffix", &ShardOrderMessage::dropped_suffix));

// A rank's part of one checkpoint: its index, or why there is none.
struct GivenPartMessage {
  std::string suffix{};
  std::string index{};
  std::optional<RankFailure> failure{};
};
template <>
inline constexpr auto kFields<GivenPartMessage> =
    std::tuple(field(1, "suffix", &GivenPartMessage::suffix), field(2, "index", &GivenPartMessage::index),
               field(3, "failure", &GivenPartMessage::failure));

struct GivenPartsMessage {
  std::vector<GivenPartMessage> part{};
};
template <>
inline constexpr auto kFields<GivenPartsMessage> = std::tuple(field(1, "part", &GivenPartsMessage::part));

std::string RankShards::give(std::string_view order) {
  const auto dropped = parse_message<ShardOrderMessage>(order, "the chief's order").dropped_suffix;
  GivenPartsMessage given;
  for (const auto& entry : shards_) {
    ShardOfRank* const shard = entry.second.get();
    if (shard == nullptr || std::ranges::find(dropped, entry.first) != dropped.end()) continue;
    GivenPartMessage& part = given.part.emplace_back(GivenPartMessage{.suffix = entry.first});
    try {
      part.index = shard->take();
    } catch (...) { part.failure = failure_of(std::current_exception()); }
  }
  shards_.clear();
  return message_bytes(given);
}

void RankShards::await_parts(const std::shared_ptr<PartsOfOthers>& parts) { expected_[parts->save().suffix] = parts; }

std::string RankShards::order() {
  ShardOrderMessage order;
  ordered_.clear();
  for (const auto& [suffix, expected] : expected_) {
    if (std::shared_ptr<PartsOfOthers> parts = expected.lock()) {
      ordered_.push_back(std::move(parts));
    } else {
      order.dropped_suffix.push_back(suffix);
    }
  }
  expected_.clear();
  return message_bytes(order);
}

// The index of that rank's part. @throws its error.
inline std::string index_of(const ShardedSave& save, std::string_view given, std::size_t rank) {
  const std::string what = fmt::format("what rank {} has written", rank);
  auto message = parse_message<GivenPartsMessage>(given, what);
  for (GivenPartMessage& part : message.part) {
    if (part.suffix != save.suffix) continue;
    if (!part.failure) return std::move(part.index);
    throw_error(part.failure->code, fmt::format("rank {} could not write its part: {}", rank, part.failure->message));
  }
  throw DataLossError("rank {} knows of no part of {}", rank, save.prefix);
}

void RankShards::take(const std::vector<std::string>& given) {
  for (const std::shared_ptr<PartsOfOthers>& parts : std::exchange(ordered_, {})) {
    const ShardedSave& save = parts->save();
    try {
      std::vector<std::string> indices;
      for (std::size_t rank = 1; rank < save.num_parts(); ++rank)
        indices.push_back(index_of(save, given.at(rank), rank));
      parts->set(std::move(indices));
    } catch (...) { parts->fail(std::current_exception()); }
  }
}

void RankShards::cancel(const std::exception_ptr& error) noexcept {
  for (const auto& [suffix, expected] : std::exchange(expected_, {})) {
    if (const std::shared_ptr<PartsOfOthers> parts = expected.lock()) parts->fail(error);
  }
  for (const std::shared_ptr<PartsOfOthers>& parts : std::exchange(ordered_, {})) parts->fail(error);
  shards_.clear();
}

}  // namespace trainhook::detail
