// SPDX-License-Identifier: Apache-2.0
/// @file
/// visit_json: reads JSON that cannot be trusted, without building it in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// No model has so many tensors, and a hostile file could use up the memory.
inline constexpr std::size_t kMostNames = 1'000'000;

struct JsonValue {
  enum class Kind {
    Object,  ///< it begins; its members follow
    Array,   ///< it begins; its elements follow
    Number,  ///< an integer from 0 to 2^64 - 1
    Text,
    Other,  ///< null, a boolean, any other number
  };

  Kind kind = Kind::Other;
  std::uint64_t number = 0;
  std::string_view text{};
  std::size_t arrays = 0;  ///< the number of arrays in which it is
};

/// `path` has the names of the members in which the value is, outermost first.
using JsonVisitor = FunctionRef<void(std::span<const std::string> path, const JsonValue& value)>;

/// Calls `visit` for each value, in the order of the text. What `visit` throws is thrown.
/// @param what the text, for messages: `the header of model.safetensors`
/// @throws DataLossError if it is not JSON in UTF-8, for two members of one name, for more than
/// kMostNames of them in one object, or beyond 8 levels.
TRAINHOOK_DECL void visit_json(std::string_view json, std::string_view what, JsonVisitor visit);

/// A JSON string with its quotes. @throws InvalidArgumentError, naming `what`, if the text is not UTF-8.
[[nodiscard]] TRAINHOOK_DECL std::string json_text(std::string_view text, std::string_view what);

/// A name from a file, for messages: its beginning.
[[nodiscard]] TRAINHOOK_DECL std::string_view shown(std::string_view name) noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/exchange/impl/strict_json.ipp>
#endif
