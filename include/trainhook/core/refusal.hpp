// SPDX-License-Identifier: Apache-2.0
/// @file
/// TRAINHOOK_MISTAKE: an overload for a mistake, so that the compiler's first line says what is wrong and what to
/// write.
#pragma once

#include <cstddef>

namespace trainhook::detail {

/// A text as a template argument.
template <std::size_t Size>
struct Because {
  consteval Because(const char (&why)[Size]) {
    for (std::size_t i = 0; i < Size; ++i) text[i] = why[i];
  }
  char text[Size]{};
};

}  // namespace trainhook::detail

// TRAINHOOK_MISTAKE(why, template parameter...) starts the declaration of a function that takes a mistake, and
// TRAINHOOK_REFUSED ends it. A call does not compile; a requires-expression finds no such function. Of a deleted
// function clang repeats no text, and g++ its template arguments; "unavailable" is for g++ no reason to find no such
// function.
#ifdef __clang__
#define TRAINHOOK_MISTAKE(why, ...) \
  template <__VA_ARGS__>            \
  __attribute__((unavailable(why)))
#define TRAINHOOK_REFUSED
#else
#define TRAINHOOK_MISTAKE(why, ...) template <__VA_ARGS__, ::trainhook::detail::Because kWhy = why>
#define TRAINHOOK_REFUSED = delete
#endif
