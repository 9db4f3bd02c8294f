// SPDX-License-Identifier: Apache-2.0
/// @file
/// FetchRefs: the tensors and operations that a hook is given, by handle or by name.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook {

/// What a hook fetches: one item, `loss`; several, `{loss, "accuracy"}`, which are their own tags and keep their order;
/// or several with tags, `{{"loss", loss}, {"hits", accuracy}}`, which are sorted by tag.
class FetchRefs {
 public:
  /// An Output, a Variable, an Operation, or the name of one: `"loss:0"`, or `"loss"` if it has one output. A name is
  /// looked up in the hook's `begin`, so it may name something that is added to the graph later.
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

    /// What to fetch. @throws NotFoundError or InvalidArgumentError, naming `hook`, if the graph has no such thing.
    [[nodiscard]] TRAINHOOK_DECL Fetch resolve(const Graph& graph, std::string_view hook) const;

    /// The tensor to fetch. @throws as `resolve`, and InvalidArgumentError for an operation without outputs.
    [[nodiscard]] TRAINHOOK_DECL Output resolve_output(const Graph& graph, std::string_view hook) const;

   private:
    std::variant<Output, Operation, std::string> what_;
  };
  using TaggedItem = std::pair<const std::string, Item>;

  struct Entry {
    std::string tag;
    Item item;
  };

  FetchRefs() = default;
  template <class T>
    requires std::convertible_to<const T&, Item> && (!std::same_as<T, FetchRefs>)
  FetchRefs(const T& only) : FetchRefs(std::initializer_list<Item>{Item(only)}) {}
  TRAINHOOK_DECL FetchRefs(std::initializer_list<Item> items);
  TRAINHOOK_DECL FetchRefs(const std::vector<Item>& items);
  TRAINHOOK_DECL FetchRefs(const std::vector<Output>& outputs);
  TRAINHOOK_DECL FetchRefs(std::initializer_list<TaggedItem> tagged);
  TRAINHOOK_DECL FetchRefs(const std::map<std::string, Item>& tagged);
  TRAINHOOK_DECL FetchRefs(const FetchRefs& other);
  TRAINHOOK_DECL FetchRefs(FetchRefs&& other) noexcept;
  TRAINHOOK_DECL FetchRefs& operator=(const FetchRefs& other);
  TRAINHOOK_DECL FetchRefs& operator=(FetchRefs&& other) noexcept;
  TRAINHOOK_DECL ~FetchRefs();

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// All items as the fetches of a run. @throws as `Item::resolve`.
  [[nodiscard]] TRAINHOOK_DECL FetchList resolve(const Graph& graph, std::string_view hook) const;

  /// The same for hooks that take only tensors. @throws as `Item::resolve_output`.
  [[nodiscard]] TRAINHOOK_DECL FetchList resolve_outputs(const Graph& graph, std::string_view hook) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/fetch_refs.ipp>
#endif
