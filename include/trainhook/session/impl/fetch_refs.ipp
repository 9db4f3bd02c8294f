// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/session/fetch_refs.hpp>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook::detail {

inline Fetch resolve_name(const Graph& graph, const std::string& name, std::string_view who) {
  try {
    if (name.find(':') == std::string::npos) {
      const Operation operation = graph.operation(name);
      if (operation.node().outputs().empty()) return Fetch(operation);
    }
    return Fetch(graph.output(name));
  } catch (const Error& error) { throw_error(error.code(), fmt::format("{}: {}", who, error.what())); }
}

}  // namespace trainhook::detail

namespace trainhook {

FetchRefs::Item::Item(Output output) : what_(output) {}
FetchRefs::Item::Item(const Variable& variable) : what_(variable.read) {}
FetchRefs::Item::Item(Operation operation) : what_(operation) {}
FetchRefs::Item::Item(std::string name) : what_(std::move(name)) {}
FetchRefs::Item::Item(std::string_view name) : what_(std::string(name)) {}
FetchRefs::Item::Item(const char* name) : what_(std::string(name)) {}
FetchRefs::Item::Item(const Item& other) = default;
FetchRefs::Item::Item(Item&& other) noexcept = default;
FetchRefs::Item& FetchRefs::Item::operator=(const Item& other) = default;
FetchRefs::Item& FetchRefs::Item::operator=(Item&& other) noexcept = default;
FetchRefs::Item::~Item() = default;

std::string FetchRefs::Item::name() const {
  if (const std::string* text = std::get_if<std::string>(&what_)) return *text;
  if (const Output* output = std::get_if<Output>(&what_))
    return output->has_value() ? output->name() : "an empty Output";
  const Operation operation = std::get<Operation>(what_);
  return operation.has_value() ? operation.name() : "an empty Operation";
}

Fetch FetchRefs::Item::resolve(const Graph& graph, std::string_view who) const {
  if (const Output* output = std::get_if<Output>(&what_)) {
    graph.check_belongs(*output, "what is given to", who);
    return Fetch(*output);
  }
  if (const Operation* operation = std::get_if<Operation>(&what_)) {
    if (!operation->has_value()) throw InvalidArgumentError("what is given to {} is empty: it names no operation", who);
    if (graph.find_operation(operation->name()) != *operation) {
      throw InvalidArgumentError("what is given to {} is '{}', which belongs to another graph", who, operation->name());
    }
    return Fetch(*operation);
  }
  return detail::resolve_name(graph, std::get<std::string>(what_), who);
}

Output FetchRefs::Item::resolve_output(const Graph& graph, std::string_view who) const {
  const Fetch fetch = resolve(graph, who);
  if (fetch.is_operation())
    throw InvalidArgumentError("{}: '{}' is an operation without outputs; give a tensor", who, name());
  return Output(&fetch.node(), static_cast<std::size_t>(fetch.index()));
}

FetchRefs::FetchRefs(std::initializer_list<Item> items) : FetchRefs(std::vector<Item>(items)) {}

FetchRefs::FetchRefs(std::initializer_list<TaggedItem> tagged) : FetchRefs(std::map<std::string, Item>(tagged)) {}

FetchRefs::FetchRefs(const std::vector<Item>& items) {
  for (const Item& item : items) entries_.push_back({item.name(), item});
}

FetchRefs::FetchRefs(const std::map<std::string, Item>& tagged) {
  for (const auto& [tag, item] : tagged) entries_.push_back({tag, item});
}

std::vector<std::string> FetchRefs::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_)
    names.push_back(entry.tag.ends_with(":0") ? entry.tag.substr(0, entry.tag.size() - 2) : entry.tag);
  return names;
}

FetchList FetchRefs::resolve(const Graph& graph, std::string_view who) const {
  FetchList fetches;
  for (const Entry& entry : entries()) fetches.push_back(entry.item.resolve(graph, who));
  return fetches;
}

FetchList FetchRefs::resolve_outputs(const Graph& graph, std::string_view who) const {
  FetchList fetches;
  for (const Entry& entry : entries()) fetches.push_back(Fetch(entry.item.resolve_output(graph, who)));
  return fetches;
}

}  // namespace trainhook
