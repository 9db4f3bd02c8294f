// SPDX-License-Identifier: Apache-2.0
/// @file
/// Vectors as large as the processor's registers, for code that compilers do not turn into such by themselves.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace trainhook::kernels::detail {

/// `Size` elements, with the operators of one: what g++ and clang call a vector.
template <class T, std::size_t Size>
struct VectorOf {
  using type [[gnu::vector_size(Size * sizeof(T))]] = T;
};

/// Bytes in a vector register of the processor that is compiled for, and how many such registers it has. The compiler's
/// own macros tell.
#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;  // SSE2, NEON, and what compilers take apart where there is nothing
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kVectorRegisters = 32;
#else
inline constexpr int kVectorRegisters = 16;
#endif

/// How many elements fit one register.
template <class T>
inline constexpr std::size_t kVectorSize = kVectorBytes / sizeof(T);

template <class Code, std::size_t... I>
[[gnu::always_inline]] inline void call_with(Code& code, std::index_sequence<I...>) {
  (code(std::integral_constant<std::size_t, I>{}), ...);
}

/// Calls `code` with 0, 1, ... as constants: a loop that is unrolled at any level of optimisation, which keeps arrays
/// in registers.
template <std::size_t Count, class Code>
[[gnu::always_inline]] inline void unrolled(Code&& code) {
  call_with(code, std::make_index_sequence<Count>{});
}

/// A vector, or a single element, from memory of any alignment.
template <class Vector, class T>
[[gnu::always_inline]] inline Vector load(const T* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

template <class Vector, class T>
[[gnu::always_inline]] inline void store(const Vector& vector, T* to) {
  std::memcpy(to, &vector, sizeof vector);
}

/// The sum of a vector's elements, by halves.
template <std::size_t Size, class Vector>
[[gnu::always_inline]] inline auto sum(const Vector& vector) {
  if constexpr (Size == 1) {
    return vector[0];
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return sum<Size / 2>(__builtin_shufflevector(vector, vector, I...) +
                           __builtin_shufflevector(vector, vector, (I + Size / 2)...));
    }(std::make_index_sequence<Size / 2>{});
  }
}

}  // namespace trainhook::kernels::detail
