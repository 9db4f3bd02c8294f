// SPDX-License-Identifier: Apache-2.0
/// @file
/// A checked reader of protobuf's wire format, on top of protozero.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Reads the fields of one message, in whatever order they come: `while (reader.next()) switch (reader.tag()) { case 1:
/// ... reader.get_uint64() ...; default: reader.skip(); }` Every field must be read or skipped. Malformed bytes, or a
/// field of another wire type, cause a DataLossError that names the message and the position. The reader keeps views:
/// the bytes and the name must outlive the reader and everything it returns.
class WireReader {
 public:
  /// `what` names the message or its file in errors.
  TRAINHOOK_DECL WireReader(std::string_view bytes, std::string_view what);

  /// Moves to the next field; false at the end of the message.
  [[nodiscard]] TRAINHOOK_DECL bool next();
  [[nodiscard]] std::uint32_t tag() const noexcept { return reader_.tag(); }

  TRAINHOOK_DECL void skip();
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t get_uint64();
  [[nodiscard]] bool get_bool() { return get_uint64() != 0; }

  [[nodiscard]] TRAINHOOK_DECL std::uint32_t get_fixed32();
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t get_fixed64();
  [[nodiscard]] TRAINHOOK_DECL float get_float();
  [[nodiscard]] TRAINHOOK_DECL double get_double();

  /// Reads a string or bytes field, or the bytes of a nested message.
  [[nodiscard]] TRAINHOOK_DECL std::string_view get_bytes();

  /// A reader of the nested message, with the same name in errors. @throws DataLossError if messages nest deeper than
  /// protobuf allows.
  [[nodiscard]] WireReader get_message() { return message_in(get_bytes()); }

  /// The same for a nested message whose bytes `get_bytes` has returned.
  [[nodiscard]] TRAINHOOK_DECL WireReader message_in(std::string_view bytes) const;

  /// Reads a repeated number, packed or not: calls `take` with each value. T is one of float, double, bool and the
  /// integers of 32 and 64 bits (not the zig-zag or fixed ones).
  template <class T, class Take>
  void for_each(Take&& take) {
    if (reader_.wire_type() != protozero::pbf_wire_type::length_delimited) {
      take(get_number<T>());
      return;
    }
    const std::string_view packed = get_bytes();
    const char* from = packed.data();
    const char* const end = from + packed.size();
    if constexpr (std::is_floating_point_v<T>) {
      if (packed.size() % sizeof(T) != 0) throw malformed("a packed field that ends inside a number");
      for (; from != end; from += sizeof(T)) {
        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> bits = 0;
        for (std::size_t i = sizeof(T); i > 0; --i) bits = bits << 8 | static_cast<unsigned char>(from[i - 1]);
        take(std::bit_cast<T>(bits));
      }
    } else {
      while (from != end) take(static_cast<T>(guarded([&] { return protozero::decode_varint(&from, end); })));
    }
  }

 private:
  static constexpr int kMaxDepth = 100;

  TRAINHOOK_DECL WireReader(std::string_view bytes, std::string_view what, const char* begin, int depth);

  template <class T>
  [[nodiscard]] T get_number() {
    if constexpr (std::is_same_v<T, float>) {
      return get_float();
    } else if constexpr (std::is_same_v<T, double>) {
      return get_double();
    } else {
      return static_cast<T>(get_uint64());
    }
  }

  [[nodiscard]] TRAINHOOK_DECL DataLossError malformed(std::string_view problem) const;
  TRAINHOOK_DECL void demand(protozero::pbf_wire_type wanted) const;

  template <class Read>
  auto guarded(Read&& read) const -> decltype(read()) {
    try {
      return std::forward<Read>(read)();
    } catch (const protozero::exception& error) { throw malformed(error.what()); }
  }

  protozero::pbf_reader reader_;
  std::string_view what_;
  const char* begin_;  // of the outermost message
  int depth_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/proto/impl/wire.ipp>
#endif
