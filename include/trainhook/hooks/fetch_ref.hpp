// SPDX-License-Identifier: Apache-2.0
/// @file
/// FetchRef: what a hook is to look at, by handle or by name, one or several, with or without tags.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook {

/// An `Output`, a `Variable`, an `Operation`, or the name of one: `"loss:0"`, or `"loss"` where it has one output. A
/// name is looked up when the hook's `begin` is called, so it may name what is added to the graph later.
class FetchRef {
 public:
  FetchRef(Output output) : what_(output) {}
  FetchRef(const Variable& variable) : what_(variable.read) {}
  FetchRef(Operation operation) : what_(operation) {}
  FetchRef(std::string name) : what_(std::move(name)) {}
  FetchRef(std::string_view name) : what_(std::string(name)) {}
  FetchRef(const char* name) : what_(std::string(name)) {}

  /// As it was given, or the name of what was given.
  [[nodiscard]] TRAINHOOK_DECL std::string name() const;

  /// What to fetch. @throws NotFoundError or InvalidArgumentError, naming `hook`, where the graph has no such thing.
  [[nodiscard]] TRAINHOOK_DECL Fetch resolve(const Graph& graph, std::string_view hook) const;

  /// The tensor to fetch. @throws as `resolve`, and InvalidArgumentError for what is no tensor.
  [[nodiscard]] TRAINHOOK_DECL Output resolve_output(const Graph& graph, std::string_view hook) const;

 private:
  TRAINHOOK_DECL static Fetch resolve_name(const Graph& graph, const std::string& name, std::string_view hook);

  std::variant<Output, Operation, std::string> what_;
};

using TaggedFetchRef = std::pair<const std::string, FetchRef>;

/// Several of them, each under a tag: in braces `{loss, "accuracy"}`, each its own tag, in this order; with tags
/// `{{"loss", loss}, {"hits", accuracy}}`, sorted by tag. One alone needs no braces.
class FetchRefs {
 public:
  struct Entry {
    std::string tag;
    FetchRef ref;
  };

  FetchRefs() = default;
  template <class T>
    requires std::convertible_to<const T&, FetchRef> && (!std::same_as<T, FetchRefs>)
  FetchRefs(const T& only) : FetchRefs(std::initializer_list<FetchRef>{FetchRef(only)}) {}
  TRAINHOOK_DECL FetchRefs(std::initializer_list<FetchRef> refs);
  TRAINHOOK_DECL FetchRefs(const std::vector<FetchRef>& refs);
  TRAINHOOK_DECL FetchRefs(const std::vector<Output>& outputs);
  TRAINHOOK_DECL FetchRefs(std::initializer_list<TaggedFetchRef> tagged);
  TRAINHOOK_DECL FetchRefs(const std::map<std::string, FetchRef>& tagged);

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// All of them as the fetches of a run. @throws as `FetchRef::resolve`.
  [[nodiscard]] TRAINHOOK_DECL FetchList resolve(const Graph& graph, std::string_view hook) const;

  /// The same where only tensors make sense.
  [[nodiscard]] TRAINHOOK_DECL FetchList resolve_outputs(const Graph& graph, std::string_view hook) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/fetch_ref.ipp>
#endif
