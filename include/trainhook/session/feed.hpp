// SPDX-License-Identifier: Apache-2.0
/// @file
/// Feed: a value that replaces an output in one run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/inline_vector.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// A value that replaces an output in one run: `{x, value}`, or by name `{"x:0", value}`.
struct Feed {
  Feed(Output output, Tensor new_value) noexcept : key(output), value(std::move(new_value)) {}
  /// @param output_name the output's name in the graph, with which it is looked up before an engine sees it
  Feed(std::string output_name, Tensor new_value) noexcept
      : value(std::move(new_value)), name(std::move(output_name)) {}

  Output key{};
  Tensor value{};
  std::string name{};  ///< empty if `key` is known
};

using FeedDict = InlineVector<Feed, 2>;

namespace detail {

/// True if a feed is known by name only.
[[nodiscard]] TRAINHOOK_DECL bool has_names(std::span<const Feed> feeds) noexcept;

/// The same feeds with all keys known. @throws NotFoundError or InvalidArgumentError, beginning with `role`, if the
/// graph has no output of that name.
[[nodiscard]] TRAINHOOK_DECL FeedDict without_names(std::span<const Feed> feeds, const Graph& graph,
                                                    std::string_view role);

/// @throws as `without_names`, and InvalidArgumentError for a key of another graph: "<role> <of> is ...".
TRAINHOOK_DECL void check_feeds(std::span<const Feed> feeds, const Graph& graph, std::string_view role,
                                std::string_view of);

}  // namespace detail

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/feed.ipp>
#endif
