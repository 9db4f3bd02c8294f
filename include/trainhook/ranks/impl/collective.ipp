// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/collective.hpp>

#include <fmt/format.h>

namespace trainhook::detail {

std::string ranks_text(std::span<const int> ranks) {
  constexpr std::size_t kMostParts = 16;
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - begin < 3) end = begin + 1;
    parts.push_back(end - begin > 1 ? fmt::format("{} to {}", ranks[begin], ranks[end - 1])
                                    : fmt::format("{}", ranks[begin]));
    begin = end;
    if (parts.size() == kMostParts && begin < ranks.size()) {
      parts.push_back(fmt::format("{} more", ranks.size() - begin));
      break;
    }
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return text;
}

}  // namespace trainhook::detail

namespace trainhook {

Collective::~Collective() = default;

}  // namespace trainhook
