// SPDX-License-Identifier: Apache-2.0
/// @file
/// What all fuzzers share. A fuzzer reads bytes that cannot be trusted; each run ends with a value or with an Error
/// that blames the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/error.hpp>

namespace fuzz {

/// The bytes of one run. Parts are taken off their front.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

  /// A number below `count`; 0 at the end of the input.
  [[nodiscard]] std::size_t choice(std::size_t count) noexcept {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return byte % count;
  }

  /// What comes before `separator`, which is taken as well; all of it if there is none.
  [[nodiscard]] std::string_view until(std::string_view separator) noexcept {
    const std::size_t end = rest_.find(separator);
    const std::string_view part = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + separator.size());
    return part;
  }

 private:
  std::string_view rest_;
};

/// Between two files in one input.
inline constexpr std::string_view kNextFile = "\n--- next file ---\n";

/// The contents of a file in tests/data_files, which TensorFlow wrote.
[[nodiscard]] std::string data_file(std::string_view name);

/// Defined by each fuzzer: what it reads, and inputs to begin with.
void read(Input input);
[[nodiscard]] std::vector<std::string> seeds();

}  // namespace fuzz
