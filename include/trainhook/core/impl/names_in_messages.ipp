// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/names_in_messages.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

namespace trainhook::detail {

/// How much of the beginning and of the end of the names is the same.
inline std::ptrdiff_t likeness(std::string_view name, std::string_view wanted) {
  const auto same = [](auto first, auto last, auto other, auto other_last) {
    return std::mismatch(first, last, other, other_last).first - first;
  };
  return same(name.begin(), name.end(), wanted.begin(), wanted.end()) +
         same(name.rbegin(), name.rend(), wanted.rbegin(), wanted.rend());
}

std::string suggest_names(std::vector<std::string_view> names, std::string_view wanted) {
  constexpr std::size_t kMost = 8;
  if (names.empty()) return "it holds none";
  std::string_view last = wanted.substr(wanted.rfind('/') + 1);
  const auto resembles = [&last](std::string_view name) {
    return !last.empty() && name.find(last) != std::string_view::npos;
  };
  bool any = std::any_of(names.begin(), names.end(), resembles);
  for (std::size_t dot = last.find('.'); !any && dot != std::string_view::npos; dot = last.find('.')) {
    last.remove_prefix(dot + 1);
    any = std::any_of(names.begin(), names.end(), resembles);
  }
  if (any) std::erase_if(names, [&](std::string_view name) { return !resembles(name); });
  for (auto best = names.begin(); names.size() > kMost && best != names.begin() + kMost; ++best)
    std::swap(*best, *std::ranges::max_element(best, names.end(), {},
                                               [&](std::string_view name) { return likeness(name, wanted); }));
  std::string text = any ? "names like it are: " : "it holds: ";
  for (std::size_t i = 0; i < (std::min)(names.size(), kMost); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kMost) text += fmt::format(", ... ({} in all)", names.size());
  return text;
}

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  std::string text;
  for (std::size_t i = 0; i < (std::min)(names.size(), kMost); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

std::string short_type_name(const std::string& name) {
  std::size_t end = name.size();
  int depth = 0;  // of the brackets to the right, whose colons are those of an argument
  for (std::size_t i = name.size(); i > 0; --i) {
    const char c = name[i - 1];
    if (c == '>' || c == ')') ++depth;
    if (c == '<' || c == '(') --depth;
    if (c == '<' && depth == 0) end = i - 1;
    if (c == ':' && depth == 0) return name.substr(i, end - i);
  }
  return name.substr(0, end);
}

std::string short_type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                         std::free);
  return short_type_name(std::string(status == 0 ? demangled.get() : type.name()));
}

}  // namespace trainhook::detail
