// SPDX-License-Identifier: Apache-2.0
/// @file
/// Vectors of the size of the processor's registers, for code that compilers do not vectorize.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace trainhook::kernels::detail {

/// A vector of `Size` elements with elementwise operators, as g++ and clang define it.
template <class T, std::size_t Size>
struct VectorOf {
  using type [[gnu::vector_size(Size * sizeof(T))]] = T;
};

/// The bytes of a vector register and the number of registers of the target processor, from the compiler's macros.
#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;  // SSE2 and NEON; compilers split it if there are no registers
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kVectorRegisters = 32;
#else
inline constexpr int kVectorRegisters = 16;
#endif

/// The number of elements in a register.
template <class T>
inline constexpr std::size_t kVectorSize = kVectorBytes / sizeof(T);

template <class Code, std::size_t... I>
[[gnu::always_inline]] inline void call_with(Code& code, std::index_sequence<I...>) {
  (code(std::integral_constant<std::size_t, I>{}), ...);
}

/// Calls `code` with the constants 0, 1, ...: a loop that is unrolled at any optimisation level, which keeps arrays in
/// registers.
template <std::size_t Count, class Code>
[[gnu::always_inline]] inline void unrolled(Code&& code) {
  call_with(code, std::make_index_sequence<Count>{});
}

/// Loads a vector, or a single element, from memory of any alignment.
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

/// The sum of a vector's elements, by repeated halving.
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
