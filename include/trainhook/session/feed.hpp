// SPDX-License-Identifier: Apache-2.0
/// @file
/// Feed: a value that replaces an output in one run.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/inline_vector.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// A value that replaces an output in one run: `{x, value}`, or by name `{"x:0", value}`.
struct Feed {
  Feed(Output output, Tensor new_value) noexcept : key(output), value(std::move(new_value)) {}
  /// @param output_name the output's name in the graph; it is looked up before an engine sees the feed
  Feed(std::string output_name, Tensor new_value) noexcept
      : value(std::move(new_value)), name(std::move(output_name)) {}
  TRAINHOOK_MISTAKE("the value of a feed is a Tensor: write Tensor::copy_of(std::span<const float>(values), shape)",
                    class Key, class Value)
  Feed(const Key& key, const Value& value)
    requires((std::convertible_to<const Key&, Output> || std::convertible_to<const Key&, std::string>) &&
             !std::convertible_to<const Value&, Tensor>)
  TRAINHOOK_REFUSED;

  Output key{};
  Tensor value{};
  std::string name{};  ///< empty if `key` is known
};

/// The feeds of a run, `{{x, value}}`: a vector whose first two elements need no allocation.
using FeedDict = detail::InlineVector<Feed, 2>;

namespace detail {

/// True if a feed has only a name.
[[nodiscard]] TRAINHOOK_DECL bool has_names(std::span<const Feed> feeds) noexcept;

/// Looks up the names of all feeds. @throws NotFoundError or InvalidArgumentError, starting with `role`, if the graph
/// has no output of that name.
[[nodiscard]] TRAINHOOK_DECL FeedDict without_names(std::span<const Feed> feeds, const Graph& graph,
                                                    std::string_view role);

/// @throws as `without_names`, and InvalidArgumentError, starting with `role`, for a key of another graph.
TRAINHOOK_DECL void check_feeds(std::span<const Feed> feeds, const Graph& graph, std::string_view role,
                                std::string_view of);

}  // namespace detail

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/feed.ipp>
#endif
