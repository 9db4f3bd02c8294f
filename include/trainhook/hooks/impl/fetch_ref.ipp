// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of fetch_ref.hpp.
#pragma once

#include <trainhook/hooks/fetch_ref.hpp>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/inline_vector.hpp>

namespace trainhook {

TRAINHOOK_DECL std::string FetchRef::name() const {
  if (const std::string* text = std::get_if<std::string>(&what_)) return *text;
  if (const Output* output = std::get_if<Output>(&what_))
    return output->has_value() ? output->name() : "an empty Output";
  const Operation operation = std::get<Operation>(what_);
  return operation.has_value() ? operation.name() : "an empty Operation";
}

TRAINHOOK_DECL Fetch FetchRef::resolve(const Graph& graph, std::string_view hook) const {
  if (const Output* output = std::get_if<Output>(&what_)) {
    graph.check_belongs(*output, "what is given to", hook);
    return Fetch(*output);
  }
  if (const Operation* operation = std::get_if<Operation>(&what_)) {
    if (!operation->has_value())
      throw InvalidArgumentError("what is given to {} is empty: it names no operation", hook);
    if (graph.find_operation(operation->name()) != *operation) {
      throw InvalidArgumentError("what is given to {} is '{}', which belongs to another graph", hook,
                                 operation->name());
    }
    return Fetch(*operation);
  }
  return resolve_name(graph, std::get<std::string>(what_), hook);
}

TRAINHOOK_DECL Output FetchRef::resolve_output(const Graph& graph, std::string_view hook) const {
  const Fetch fetch = resolve(graph, hook);
  if (fetch.is_operation())
    throw InvalidArgumentError("{}: '{}' is an operation without outputs; give a tensor", hook, name());
  return Output(&fetch.node(), static_cast<std::size_t>(fetch.index()));
}

TRAINHOOK_DECL Fetch FetchRef::resolve_name(const Graph& graph, const std::string& name, std::string_view hook) {
  try {
    if (name.find(':') == std::string::npos) {
      const Operation operation = graph.operation(name);
      if (operation.node().outputs().empty()) return Fetch(operation);
    }
    return Fetch(graph.output(name));
  } catch (const Error& error) { throw_error(error.code(), fmt::format("{}: {}", hook, error.what())); }
}

TRAINHOOK_DECL FetchRefs::FetchRefs(std::initializer_list<FetchRef> refs) {
  for (const FetchRef& ref : refs) entries_.push_back({ref.name(), ref});
}

TRAINHOOK_DECL FetchRefs::FetchRefs(const std::vector<FetchRef>& refs) {
  for (const FetchRef& ref : refs) entries_.push_back({ref.name(), ref});
}

TRAINHOOK_DECL FetchRefs::FetchRefs(const std::vector<Output>& outputs) {
  for (const Output& output : outputs) entries_.push_back({FetchRef(output).name(), output});
}

TRAINHOOK_DECL FetchRefs::FetchRefs(std::initializer_list<TaggedFetchRef> tagged)
    : FetchRefs(std::map<std::string, FetchRef>(tagged)) {}

TRAINHOOK_DECL FetchRefs::FetchRefs(const std::map<std::string, FetchRef>& tagged) {
  for (const auto& [tag, ref] : tagged) entries_.push_back({tag, ref});
}

TRAINHOOK_DECL FetchList FetchRefs::resolve(const Graph& graph, std::string_view hook) const {
  FetchList fetches;
  for (const Entry& entry : entries_) fetches.push_back(entry.ref.resolve(graph, hook));
  return fetches;
}

TRAINHOOK_DECL FetchList FetchRefs::resolve_outputs(const Graph& graph, std::string_view hook) const {
  FetchList fetches;
  for (const Entry& entry : entries_) fetches.push_back(Fetch(entry.ref.resolve_output(graph, hook)));
  return fetches;
}

}  // namespace trainhook
