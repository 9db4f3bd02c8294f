// SPDX-License-Identifier: Apache-2.0
/// @file
/// FetchRef: what a hook is to look at, by handle or by name, one or several, with or without tags.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <trainhook/session/run_args.hpp>

namespace trainhook {

/// An `Output`, a `Variable`, an `Operation`, or the name of one: `"loss:0"`, or `"loss"` where it has one output. A name is looked up when
/// the hook's `begin` is called, so it may name what is added to the graph later.
class FetchRef {
 public:
  FetchRef(Output output) : what_(output) {}
  FetchRef(const Variable& variable) : what_(variable.read) {}
  FetchRef(Operation operation) : what_(operation) {}
  FetchRef(std::string name) : what_(std::move(name)) {}
  FetchRef(std::string_view name) : what_(std::string(name)) {}
  FetchRef(const char* name) : what_(std::string(name)) {}

  /// As it was given, or the name of what was given.
  [[nodiscard]] std::string name() const {
    if (const std::string* text = std::get_if<std::string>(&what_)) return *text;
    if (const Output* output = std::get_if<Output>(&what_)) return output->has_value() ? output->name() : "an empty Output";
    const Operation operation = std::get<Operation>(what_);
    return operation.has_value() ? operation.name() : "an empty Operation";
  }

  /// What to fetch. @throws NotFoundError or InvalidArgumentError, naming `hook`, where the graph has no such thing.
  [[nodiscard]] Fetch resolve(const Graph& graph, std::string_view hook) const {
    if (const Output* output = std::get_if<Output>(&what_)) {
      graph.check_belongs(*output, "what is given to", hook);
      return Fetch(*output);
    }
    if (const Operation* operation = std::get_if<Operation>(&what_)) {
      if (!operation->has_value()) throw InvalidArgumentError("what is given to ", hook, " is empty: it names no operation");
      if (graph.find_operation(operation->name()) != *operation) {
        throw InvalidArgumentError("what is given to ", hook, " is '", operation->name(), "', which belongs to another graph");
      }
      return Fetch(*operation);
    }
    return resolve_name(graph, std::get<std::string>(what_), hook);
  }

  /// The tensor to fetch. @throws as `resolve`, and InvalidArgumentError for what is no tensor.
  [[nodiscard]] Output resolve_output(const Graph& graph, std::string_view hook) const {
    const Fetch fetch = resolve(graph, hook);
    if (fetch.is_operation()) throw InvalidArgumentError(hook, ": '", name(), "' is an operation without outputs; give a tensor");
    return Output(&fetch.node(), static_cast<std::size_t>(fetch.index()));
  }

 private:
  static Fetch resolve_name(const Graph& graph, const std::string& name, std::string_view hook) {
    try {
      if (name.find(':') == std::string::npos) {
        const Operation operation = graph.operation(name);
        if (operation.node().outputs().empty()) return Fetch(operation);
      }
      return Fetch(graph.output(name));
    } catch (const Error& error) {
      throw_error(error.code(), str_cat(hook, ": ", error.what()));
    }
  }

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
  FetchRefs(std::initializer_list<FetchRef> refs) {
    for (const FetchRef& ref : refs) entries_.push_back({ref.name(), ref});
  }
  FetchRefs(const std::vector<FetchRef>& refs) {
    for (const FetchRef& ref : refs) entries_.push_back({ref.name(), ref});
  }
  FetchRefs(const std::vector<Output>& outputs) {
    for (const Output& output : outputs) entries_.push_back({FetchRef(output).name(), output});
  }
  FetchRefs(std::initializer_list<TaggedFetchRef> tagged) : FetchRefs(std::map<std::string, FetchRef>(tagged)) {}
  FetchRefs(const std::map<std::string, FetchRef>& tagged) {
    for (const auto& [tag, ref] : tagged) entries_.push_back({tag, ref});
  }

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// All of them as the fetches of a run. @throws as `FetchRef::resolve`.
  [[nodiscard]] FetchList resolve(const Graph& graph, std::string_view hook) const {
    FetchList fetches;
    for (const Entry& entry : entries_) fetches.push_back(entry.ref.resolve(graph, hook));
    return fetches;
  }

  /// The same where only tensors make sense.
  [[nodiscard]] FetchList resolve_outputs(const Graph& graph, std::string_view hook) const {
    FetchList fetches;
    for (const Entry& entry : entries_) fetches.push_back(Fetch(entry.ref.resolve_output(graph, hook)));
    return fetches;
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace trainhook
