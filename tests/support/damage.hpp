// SPDX-License-Identifier: Apache-2.0
/// @file
/// Files cut off and files with a flipped bit, for readers that have to notice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "sanitized.hpp"

namespace trainhook::testing {

[[nodiscard]] inline std::string flipped(std::string contents, std::size_t bit) {
  contents[bit / 8] = static_cast<char>(contents[bit / 8] ^ (1 << bit % 8));
  return contents;
}

/// What was done to a file.
struct Damage {
  bool is_cut{};
  std::size_t place{};  ///< the size that is left, or the bit that was flipped

  friend std::ostream& operator<<(std::ostream& out, const Damage& damage) {
    return out << (damage.is_cut ? "cut to " : "flipped bit ") << damage.place;
  }
};

/// The numbers below `count`; if these are more than `most` (under a sanitizer, a tenth of it), the first ones and
/// others spread over the rest.
[[nodiscard]] inline std::vector<std::size_t> places(std::size_t count, std::size_t most) {
  if (kIsSanitized) most = (most + 9) / 10;
  std::vector<std::size_t> result;
  const std::size_t first = count <= most ? count : most / 2;
  for (std::size_t i = 0; i < first; ++i) result.push_back(i);
  const std::size_t stride =
      (std::max)(std::size_t{1}, (count - first) / (most - most / 2)) | 1;  // odd: not the same bit of each byte
  for (std::size_t i = first; i < count; i += stride) result.push_back(i);
  return result;
}

/// Calls `take(damaged contents, damage)` for the file cut off before each byte and with each bit flipped. Of a file
/// with more than `most` bits not all are taken, see `places`.
template <class Take>
void for_each_damage(const std::string& contents, Take&& take, std::size_t most = 40'000) {
  for (const std::size_t size : places(contents.size(), most / 4)) take(contents.substr(0, size), Damage{true, size});
  for (const std::size_t bit : places(8 * contents.size(), most)) take(flipped(contents, bit), Damage{false, bit});
}

/// `read(contents)` returns what a reader makes of them. Damaged, it has to be an Error that names the file, or the
/// same result.
template <class Read>
void expect_refused_or_same(const std::string& contents, std::string_view file, const Read& read,
                            std::size_t most = 40'000) {
  const auto sound = read(contents);
  for_each_damage(
      contents,
      [&](const std::string& damaged, const Damage& damage) {
        try {
          EXPECT_TRUE(read(damaged) == sound) << damage;
        } catch (const Error& error) {
          EXPECT_NE(std::string_view(error.what()).find(file), std::string_view::npos)
              << damage << ": " << error.what();
        }
      },
      most);
}

/// The same if no checksum covers the file: an Error that names it, or whatever the bytes say.
template <class Read>
void expect_refused_or_read(const std::string& contents, std::string_view file, const Read& read,
                            std::size_t most = 40'000) {
  expect_refused_or_same(
      contents, file, [&](const std::string& bytes) { return static_cast<void>(read(bytes)), true; }, most);
}

}  // namespace trainhook::testing
