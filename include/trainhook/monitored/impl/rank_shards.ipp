// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of rank_shards.hpp.
#pragma once

#include <trainhook/monitored/rank_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/monitored/rank_failure.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL bool RankShards::is_writing() const {
  return std::ranges::any_of(shards_, [](const auto& of) { return of.second != nullptr && of.second->is_writing(); });
}

TRAINHOOK_DECL void RankShards::begin(const ShardedSave& save, SessionRef session, FileSystem& file_system) {
  std::unique_ptr<ShardOfRank>& mine = shards_[save.suffix];
  const auto part = static_cast<std::size_t>(rank_);
  if (rank_ > 0 && part < save.num_parts()) mine = std::make_unique<ShardOfRank>(session, save, rank_, file_system);
}

// The order is the suffixes of what is dropped (1). Each part is a message (1): its suffix (1), its index (2) or why
// there is none (3).
TRAINHOOK_DECL std::string RankShards::give(std::string_view order) {
  std::set<std::string, std::less<>> dropped;
  WireReader(order, "the chief's order").for_each_field(1, [&](WireReader& suffix) {
    dropped.insert(suffix.get_string());
  });
  std::string bytes;
  WireWriter writer(bytes);
  for (const auto& entry : shards_) {
    ShardOfRank* const shard = entry.second.get();
    if (shard == nullptr || dropped.contains(entry.first)) continue;
    add_wire_message(writer, 1, [&](WireWriter& part) {
      part.add_string(1, entry.first);
      try {
        part.add_string(2, shard->take());
      } catch (...) { part.add_string(3, failure_bytes(std::current_exception())); }
    });
  }
  shards_.clear();
  return bytes;
}

TRAINHOOK_DECL void RankShards::expect(const std::shared_ptr<PartsOfOthers>& parts) {
  expected_[parts->save().suffix] = parts;
}

TRAINHOOK_DECL std::string RankShards::order() {
  std::string bytes;
  WireWriter writer(bytes);
  ordered_.clear();
  for (const auto& [suffix, expected] : expected_) {
    if (std::shared_ptr<PartsOfOthers> parts = expected.lock()) {
      ordered_.push_back(std::move(parts));
    } else {
      writer.add_string(1, suffix);
    }
  }
  expected_.clear();
  return bytes;
}

// What one rank has given, by suffix.
struct GivenPart {
  std::string suffix{};
  std::string index{};
  std::string failure{};
};

TRAINHOOK_DECL std::vector<GivenPart> parts_in(std::string_view bytes, std::size_t rank) {
  std::vector<GivenPart> parts;
  const std::string what = fmt::format("what rank {} has written", rank);
  WireReader(bytes, what).for_each_field(1, [&](WireReader& all) {
    GivenPart& part = parts.emplace_back();
    WireReader reader = all.get_message();
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: part.suffix = reader.get_string(); break;
        case 2: part.index = reader.get_string(); break;
        case 3: part.failure = reader.get_string(); break;
        default: reader.skip();
      }
    }
  });
  return parts;
}

// The index of that rank's part. @throws its error.
TRAINHOOK_DECL std::string index_of(const ShardedSave& save, std::string_view given, std::size_t rank) {
  for (GivenPart& part : parts_in(given, rank)) {
    if (part.suffix != save.suffix) continue;
    if (part.failure.empty()) return std::move(part.index);
    throw_error(failure_code(part.failure),
                fmt::format("rank {} could not write its part: {}", rank, failure_message(part.failure)));
  }
  throw DataLossError("rank {} knows of no part of {}", rank, save.prefix);
}

TRAINHOOK_DECL void RankShards::take(const std::vector<std::string>& given) {
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

TRAINHOOK_DECL void RankShards::cancel(const std::exception_ptr& error) noexcept {
  for (const auto& [suffix, expected] : std::exchange(expected_, {})) {
    if (const std::shared_ptr<PartsOfOthers> parts = expected.lock()) ordered_.push_back(parts);
  }
  for (const std::shared_ptr<PartsOfOthers>& parts : std::exchange(ordered_, {})) parts->fail(error);
  shards_.clear();
}

}  // namespace trainhook::detail
