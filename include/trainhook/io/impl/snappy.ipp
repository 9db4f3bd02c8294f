// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/snappy.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <trainhook/core/coding.hpp>

namespace trainhook::detail {

/// Unpacks element by element; each call is false if the element does not fit.
class SnappyUnpacker {
 public:
  SnappyUnpacker(std::string_view packed, std::size_t size) : packed_(packed), size_(size) { text_.reserve(size); }

  [[nodiscard]] bool is_at_end() const noexcept { return packed_.empty(); }
  [[nodiscard]] std::string& text() noexcept { return text_; }

  /// Not at the end.
  [[nodiscard]] bool take_element() {
    const auto tag = static_cast<unsigned char>(packed_.front());
    packed_.remove_prefix(1);
    const std::uint64_t bits = tag >> 2U;
    switch (tag & 3U) {
      case 0: return take_literal(bits);
      case 1: return take_copy(4 + (bits & 7), 1, bits >> 3);
      case 2: return take_copy(1 + bits, 2, 0);
      default: return take_copy(1 + bits, 4, 0);
    }
  }

 private:
  static constexpr std::uint64_t kLongestInTag = 60;

  [[nodiscard]] std::optional<std::uint64_t> take_number(std::size_t bytes) {
    if (bytes > packed_.size()) return std::nullopt;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) number |= std::uint64_t{static_cast<unsigned char>(packed_[i])} << (8 * i);
    packed_.remove_prefix(bytes);
    return number;
  }

  [[nodiscard]] bool take_literal(std::uint64_t less_1) {
    if (less_1 >= kLongestInTag) {
      const auto longer = take_number(static_cast<std::size_t>(less_1 - kLongestInTag + 1));
      if (!longer) return false;
      less_1 = *longer;
    }
    if (less_1 >= packed_.size() || less_1 >= size_ - text_.size()) return false;
    const auto length = static_cast<std::size_t>(less_1) + 1;
    text_.append(packed_.substr(0, length));
    packed_.remove_prefix(length);
    return true;
  }

  [[nodiscard]] bool take_copy(std::uint64_t length, std::size_t offset_bytes, std::uint64_t upper_byte) {
    const auto lower = take_number(offset_bytes);
    if (!lower) return false;
    const std::uint64_t offset = *lower | upper_byte << 8;
    if (offset == 0 || offset > text_.size() || length > size_ - text_.size()) return false;
    const std::size_t from = text_.size() - static_cast<std::size_t>(offset);
    for (std::size_t i = 0; i < length; ++i) text_ += text_[from + i];
    return true;
  }

  std::string_view packed_;
  std::size_t size_;
  std::string text_;
};

std::optional<std::string> unpack_snappy(std::string_view packed) {
  constexpr std::uint64_t kMostUnpacking = 22;  // no element makes more than 64 bytes of three
  const std::optional<std::uint64_t> size = take_varint(packed);
  if (!size || *size / kMostUnpacking > packed.size()) return std::nullopt;
  SnappyUnpacker unpacker(packed, static_cast<std::size_t>(*size));
  while (!unpacker.is_at_end())
    if (!unpacker.take_element()) return std::nullopt;
  if (unpacker.text().size() != *size) return std::nullopt;
  return std::move(unpacker.text());
}

}  // namespace trainhook::detail
