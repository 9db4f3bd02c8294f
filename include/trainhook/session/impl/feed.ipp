// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/session/feed.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook::detail {

bool has_names(std::span<const Feed> feeds) noexcept {
  return std::ranges::any_of(feeds, [](const Feed& feed) { return !feed.name.empty(); });
}

FeedDict without_names(std::span<const Feed> feeds, const Graph& graph, std::string_view role) {
  FeedDict known;
  for (const Feed& feed : feeds) {
    try {
      known.push_back(feed.name.empty() ? feed : Feed(graph.output(feed.name), feed.value));
    } catch (const Error& error) { throw_error(error.code(), fmt::format("{}: {}", role, error.what())); }
  }
  return known;
}

void check_feeds(std::span<const Feed> feeds, const Graph& graph, std::string_view role, std::string_view of) {
  for (const Feed& feed : without_names(feeds, graph, fmt::format("{} {}", role, of)))
    graph.check_belongs(feed.key, role, of);
}

}  // namespace trainhook::detail
