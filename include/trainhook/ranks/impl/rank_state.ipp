// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_state.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/saved_input.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kRankPrefix = "_trainhook/ranks/";
inline constexpr std::string_view kVersionOfHook = "/version";

struct StateEntryMessage {
  std::optional<std::string_view> name{};  // written even if it is empty
  std::uint64_t dtype = 0;
  std::vector<std::int64_t> dims{};
  std::string_view content{};  // the elements as they lie in memory; or else
  std::vector<std::string_view> strings{};
};
template <>
inline constexpr auto kFields<StateEntryMessage> =
    std::tuple(field(1, "name", &StateEntryMessage::name), field(2, "dtype", &StateEntryMessage::dtype),
               field(3, "dims", &StateEntryMessage::dims), field(4, "content", &StateEntryMessage::content),
               field(5, "strings", &StateEntryMessage::strings));

struct StatePartMessage {
  std::optional<std::string_view> name{};  // written even if it is empty
  std::vector<StateEntryMessage> entries{};
};
template <>
inline constexpr auto kFields<StatePartMessage> =
    std::tuple(field(1, "name", &StatePartMessage::name), field(2, "entries", &StatePartMessage::entries));

struct RankStateMessage {
  std::vector<StatePartMessage> parts{};
};
template <>
inline constexpr auto kFields<RankStateMessage> = std::tuple(field(1, "parts", &RankStateMessage::parts));

// The wanted auxiliary state, and the input positions that are saved with the model.
template <class IsWanted>
[[nodiscard]] RankState parts_of_session(SessionRef session, IsWanted is_wanted) {
  const auto inputs = session.graph().collection<std::string>(kInputsWithModel);
  std::vector<std::string> names;
  for (const StateSpec& spec : session.state()) {
    if ((spec.kind == StateKind::Auxiliary && is_wanted(spec)) ||
        (spec.kind == StateKind::Input && std::ranges::find(inputs, spec.name) != inputs.end()))
      names.push_back(spec.name);
  }
  RankState state;
  for (NamedTensor& value : session.snapshot(names)) {
    std::string name = value.name;
    state.push_back({.name = std::move(name), .entries = {std::move(value)}});
  }
  return state;
}

RankState start_of_rank(SessionRef session) {
  return parts_of_session(session, [](const StateSpec& spec) { return spec.is_generator; });
}

RankState state_of_rank(SessionRef session) {
  RankState state = parts_of_session(session, [](const StateSpec&) { return true; });
  for (const auto& saveable : session.graph().collection<std::shared_ptr<Saveable>>(graph_keys::kSaveableObjects)) {
    state.push_back({.name = saveable->name(), .entries = entries_of(*saveable)});
  }
  return state;
}

/// Points into the entry.
inline StateEntryMessage message_of(const NamedTensor& entry) {
  const auto& [name, tensor] = entry;
  StateEntryMessage message{.name = name, .dtype = static_cast<std::uint64_t>(tensor.dtype())};
  message.dims.assign(tensor.shape().dims().begin(), tensor.shape().dims().end());
  if (tensor.dtype() == DType::String) {
    const std::span<const std::string> strings = tensor.data<std::string>();
    message.strings.assign(strings.begin(), strings.end());
  } else {
    message.content = {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()};
  }
  return message;
}

inline NamedTensor entry_in(const StateEntryMessage& message, std::string_view what) {
  const auto damaged = [&] { return DataLossError("{}: the value '{}' is damaged", what, message.name.value_or("")); };
  const auto dtype = static_cast<DType>(message.dtype);
  if (message.name.value_or("").empty()) throw DataLossError("{}: a value lacks its name", what);
  if (message.dtype > 255 || find_dtype(dtype) == nullptr) throw damaged();
  try {
    const Shape shape(std::span<const std::int64_t>(message.dims));
    const auto count = static_cast<std::uint64_t>(shape.num_elements());
    const std::size_t size = dtype_size(dtype);
    const bool fits = size == 0 ? message.strings.size() == count && message.content.empty()
                                : message.content.size() % size == 0 && message.content.size() / size == count;
    if (!fits) throw damaged();
    Tensor tensor = Tensor::uninitialized(dtype, shape);
    if (size == 0) {
      std::ranges::copy(message.strings, tensor.overwrite_data<std::string>().begin());
    } else {
      std::ranges::copy(std::as_bytes(std::span(message.content)), tensor.overwrite_bytes().begin());
    }
    return {std::string(*message.name), std::move(tensor)};
  } catch (const InvalidArgumentError&) { throw damaged(); }  // of the shape
}

std::string rank_state_bytes(const RankState& state) {
  RankStateMessage message;
  for (const StatePart& part : state) {
    StatePartMessage& written = message.parts.emplace_back();
    written.name = part.name;
    for (const NamedTensor& entry : part.entries) written.entries.push_back(message_of(entry));
  }
  return message_bytes(message);
}

RankState rank_state_in(std::string_view bytes, int rank) {
  const std::string what = fmt::format("the state that rank {} has sent", rank);
  RankState state;
  for (const StatePartMessage& message : parse_message<RankStateMessage>(bytes, what).parts) {
    StatePart& part = state.emplace_back();
    part.name = message.name.value_or("");
    for (const StateEntryMessage& entry : message.entries) part.entries.push_back(entry_in(entry, what));
  }
  return state;
}

std::string rank_prefix(int rank) { return fmt::format("{}{}/", kRankPrefix, rank); }

// By name; those of hooks for each hook, and nothing for a hook that has only a version.
using EntriesByName = std::map<std::string_view, const Tensor*>;
using EntriesByGroup = std::map<std::string_view, EntriesByName>;

inline std::string_view group_of(const StatePart& part, const NamedTensor& entry, bool by_hook) {
  return by_hook ? std::string_view(entry.name).substr(0, entry.name.find('/', part.name.size() + 1))
                 : std::string_view();
}

inline EntriesByGroup grouped(const StatePart& part, bool by_hook) {
  EntriesByGroup groups;
  for (const NamedTensor& entry : part.entries) {
    const std::string_view group = group_of(part, entry, by_hook);
    EntriesByName& entries = groups[group];
    const bool is_value = !by_hook || entry.name.substr((std::min)(group.size(), entry.name.size())) != kVersionOfHook;
    if (is_value) entries.emplace(entry.name, &entry.tensor);
  }
  return groups;
}

inline bool is_same(const EntriesByName& a, const EntriesByName& b) {
  return std::ranges::equal(a, b, [](const auto& left, const auto& right) {
    return left.first == right.first && *left.second == *right.second;
  });
}

using PartsByName = std::map<std::string_view, const StatePart*>;

inline PartsByName parts_by_name(const RankState& state) {
  PartsByName parts;
  for (const StatePart& part : state) parts.emplace(part.name, &part);
  return parts;
}

// Whether the chief has the same in that part; of the part of all hooks, in those that the rank has.
inline bool is_chiefs(const StatePart& part, const PartsByName& chiefs, bool by_hook) {
  const auto chiefs_part = chiefs.find(part.name);
  const EntriesByGroup mine = grouped(part, by_hook);
  const EntriesByGroup others = chiefs_part == chiefs.end() ? EntriesByGroup() : grouped(*chiefs_part->second, by_hook);
  if (!by_hook && mine.size() != others.size()) return false;
  return std::ranges::all_of(mine, [&](const auto& group) {
    const auto other = others.find(group.first);
    return is_same(group.second, other == others.end() ? EntriesByName() : other->second);
  });
}

std::vector<std::string> parts_that_differ(const RankState& state, const RankState& chiefs) {
  std::vector<std::string> names;
  const PartsByName chiefs_parts = parts_by_name(chiefs);
  for (const StatePart& part : state) {
    if (!is_chiefs(part, chiefs_parts, false)) names.push_back(part.name);
  }
  return names;
}

std::vector<NamedTensor> own_entries(int rank, const RankState& state, const RankState& chiefs,
                                     std::string_view hooks) {
  const std::string prefix = rank_prefix(rank);
  std::vector<NamedTensor> entries;
  const PartsByName chiefs_parts = parts_by_name(chiefs);
  for (const StatePart& part : state) {
    const bool by_hook = part.name == hooks;
    if (is_chiefs(part, chiefs_parts, by_hook)) continue;
    const EntriesByGroup groups = grouped(part, by_hook);
    const bool has_values = std::ranges::any_of(groups, [](const auto& group) { return !group.second.empty(); });
    for (const NamedTensor& entry : part.entries) {
      const bool is_needed = !has_values || !groups.at(group_of(part, entry, by_hook)).empty();
      if (is_needed) entries.push_back({prefix + entry.name, entry.tensor});
    }
  }
  return entries;
}

std::set<std::string, std::less<>> names_of_ranks(const std::vector<std::string>& names) {
  std::set<std::string, std::less<>> found;
  for (const std::string_view name : names) {
    if (name.starts_with(kRankPrefix))
      found.emplace(name.substr((std::min)(name.find('/', kRankPrefix.size()), name.size() - 1) + 1));
  }
  return found;
}

std::vector<int> ranks_beyond(int size, const std::vector<std::string>& names) {
  std::set<int> ranks;
  for (std::string_view name : names) {
    if (!name.starts_with(kRankPrefix)) continue;
    name.remove_prefix(kRankPrefix.size());
    int rank = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
    if (error == std::errc() && end != name.data() + name.size() && *end == '/' && rank >= size) ranks.insert(rank);
  }
  return {ranks.begin(), ranks.end()};
}

}  // namespace trainhook::detail
