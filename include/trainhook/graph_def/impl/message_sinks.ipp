// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of message_sinks.hpp.
#pragma once

#include <trainhook/graph_def/message_sinks.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void BinarySink::bytes(std::uint32_t tag, std::string_view, std::string_view value) {
  writer_.add_bytes(tag, value.data(), value.size());
}

TRAINHOOK_DECL void BinarySink::integers(std::uint32_t tag, std::string_view, std::span<const std::int64_t> values) {
  writer_.add_packed_int64(tag, values.begin(), values.end());
}

TRAINHOOK_DECL void BinarySink::reals(std::uint32_t tag, std::string_view, std::span<const float> values) {
  writer_.add_packed_float(tag, values.begin(), values.end());
}

TRAINHOOK_DECL void BinarySink::reals(std::uint32_t tag, std::string_view, std::span<const double> values) {
  writer_.add_packed_double(tag, values.begin(), values.end());
}

TRAINHOOK_DECL void TextSink::integers(std::uint32_t tag, std::string_view name, std::span<const std::int64_t> values) {
  for (const std::int64_t value : values) integer(tag, name, value);
}

}  // namespace trainhook::detail
