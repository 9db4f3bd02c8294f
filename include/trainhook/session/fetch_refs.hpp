// SPDX-License-Identifier: Apache-2.0
/// @file
/// FetchRefs: tensors and operations to fetch, by handle or by name.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/session/fetch.hpp>

namespace trainhook {

namespace detail {

/// A range of values that convert to `T`. A string is a name, not a range. Without <ranges>, which is expensive.
template <class List, class T>
concept RangeOf = !std::convertible_to<const List&, std::string_view> && requires(const List& list) {
  { std::begin(list) } -> std::input_iterator;
  { *std::begin(list) } -> std::convertible_to<T>;
  std::end(list);
};

}  // namespace detail

/// What to fetch: one item, `loss`; a list, `{loss, "accuracy"}`, in its order, with the items' names as tags; or a
/// list with tags, `{{"loss", loss}, {"hits", accuracy}}`, sorted by tag. Also a vector or map of items. Copies share
/// their items.
class FetchRefs {
 public:
  /// An Output, a Variable, an Operation, or the name of one: `"loss:0"`, or `"loss"` if it has one output. Names are
  /// looked up when they are needed, so the graph may get the node later.
  class Item {
   public:
    TRAINHOOK_DECL Item(Output output);
    TRAINHOOK_DECL Item(const Variable& variable);
    TRAINHOOK_DECL Item(Operation operation);
    TRAINHOOK_DECL Item(std::string name);
    TRAINHOOK_DECL Item(std::string_view name);
    TRAINHOOK_DECL Item(const char* name);
    TRAINHOOK_DECL Item(const Item& other);
    TRAINHOOK_DECL Item(Item&& other) noexcept;
    TRAINHOOK_DECL Item& operator=(const Item& other);
    TRAINHOOK_DECL Item& operator=(Item&& other) noexcept;
    TRAINHOOK_DECL ~Item();

    /// The name that was given, or the name of the handle.
    [[nodiscard]] TRAINHOOK_DECL std::string name() const;

    /// Looks up the item. @throws NotFoundError or InvalidArgumentError, naming `who`, if the graph does not have it.
    [[nodiscard]] TRAINHOOK_DECL Fetch resolve(const Graph& graph, std::string_view who) const;

    /// Looks up a tensor. @throws as `resolve`, and InvalidArgumentError for an operation without outputs.
    [[nodiscard]] TRAINHOOK_DECL Output resolve_output(const Graph& graph, std::string_view who) const;

   private:
    std::variant<Output, Operation, std::string> what_;
  };
  using TaggedItem = std::pair<const std::string, Item>;  ///< a tag, and the item with that tag

  struct Entry {
    std::string tag;
    Item item;
  };

  FetchRefs() = default;
  template <class T>
    requires std::convertible_to<const T&, Item> && (!std::same_as<T, FetchRefs>)
  FetchRefs(const T& only) : FetchRefs(std::initializer_list<Item>{Item(only)}) {}
  TRAINHOOK_DECL FetchRefs(std::initializer_list<Item> items);
  TRAINHOOK_DECL FetchRefs(std::initializer_list<TaggedItem> tagged);
  TRAINHOOK_DECL FetchRefs(const std::vector<Item>& items);
  TRAINHOOK_DECL FetchRefs(const std::map<std::string, Item>& tagged);
  /// A range of values that convert to an Item, such as `std::vector<Output>`.
  template <detail::RangeOf<Item> Items>
  FetchRefs(const Items& items) : FetchRefs(std::vector<Item>(std::begin(items), std::end(items))) {}
  /// A range of pairs of a tag and an item, such as `std::map<std::string, Output>`.
  template <detail::RangeOf<TaggedItem> Tagged>
  FetchRefs(const Tagged& tagged) : FetchRefs(std::map<std::string, Item>(std::begin(tagged), std::end(tagged))) {}

  TRAINHOOK_MISTAKE(
      "fetched is what has a name, not a value: write the name, or what loop.value(name, function), loop.variable(...) "
      "or the builder of an op returns",
      class Value)
  FetchRefs(const Value& value)
    requires(!std::convertible_to<const Value&, Item> && !std::derived_from<Value, FetchRefs> &&
             !detail::RangeOf<Value, Item> && !detail::RangeOf<Value, TaggedItem>)
  TRAINHOOK_REFUSED;

  [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// The tags, without the `:0` of a first output.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> names() const;

  /// Looks up all items, as the fetches of a run. @throws as `Item::resolve`.
  [[nodiscard]] TRAINHOOK_DECL FetchList resolve(const Graph& graph, std::string_view who) const;

  /// Like `resolve`, for hooks that only take tensors. @throws as `Item::resolve_output`.
  [[nodiscard]] TRAINHOOK_DECL FetchList resolve_outputs(const Graph& graph, std::string_view who) const;

 private:
  std::vector<Entry> entries_{};
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/fetch_refs.ipp>
#endif
