// SPDX-License-Identifier: Apache-2.0
/// @file
/// Vectors of the size of the processor's registers, for code that compilers do not vectorize; and the processor's
/// intrinsics, without the warnings of g++ about its own. Include it before Eigen, which includes them.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
// g++ 12 takes the undefined operands of its AVX-512 intrinsics for mistakes (GCC bug 105593) and says so for each use,
// unless that is switched off where the header is included first.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

namespace trainhook::kernels::detail {

/// A vector of `Size` elements with elementwise operators, as g++ and clang define it.
template <class T, std::size_t Size>
struct VectorOf {
  using type [[gnu::vector_size(Size * sizeof(T))]] = T;
};

/// The type of a vector's elements, or of a single element.
template <class V>
struct TypeOfElement {
  using type = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;
};
template <class V>
  requires(std::is_arithmetic_v<V>)
struct TypeOfElement<V> {
  using type = V;
};
template <class V>
using ElementOf = typename TypeOfElement<V>::type;

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

inline float square_root(float square) noexcept { return std::sqrt(square); }
inline double square_root(double square) noexcept { return std::sqrt(square); }

/// Square roots as IEEE 754 rounds them, by the processor's instruction: a loop over std::sqrt would not become one,
/// since that may set errno.
inline auto square_root(VectorOf<float, kVectorSize<float>>::type squares) noexcept {
#if defined(__AVX512F__)
  return decltype(squares)(_mm512_sqrt_ps(std::bit_cast<__m512>(squares)));
#elif defined(__AVX__)
  return decltype(squares)(_mm256_sqrt_ps(std::bit_cast<__m256>(squares)));
#elif defined(__SSE2__)
  return decltype(squares)(_mm_sqrt_ps(std::bit_cast<__m128>(squares)));
#else
  for (std::size_t i = 0; i < kVectorSize<float>; ++i) squares[i] = std::sqrt(squares[i]);
  return squares;
#endif
}
inline auto square_root(VectorOf<double, kVectorSize<double>>::type squares) noexcept {
#if defined(__AVX512F__)
  return decltype(squares)(_mm512_sqrt_pd(std::bit_cast<__m512d>(squares)));
#elif defined(__AVX__)
  return decltype(squares)(_mm256_sqrt_pd(std::bit_cast<__m256d>(squares)));
#elif defined(__SSE2__)
  return decltype(squares)(_mm_sqrt_pd(std::bit_cast<__m128d>(squares)));
#else
  for (std::size_t i = 0; i < kVectorSize<double>; ++i) squares[i] = std::sqrt(squares[i]);
  return squares;
#endif
}

/// Computes `count` elements: `code(x...)` takes a vector, or a single element, of each of `from`. For what Eigen makes
/// no vectors of, such as a choice, and for short rows, which its loops take long to prepare for.
template <class T, class Code, class... From>
void compute(T* to, std::ptrdiff_t count, const Code& code, const From*... from) {
  using Vector = typename VectorOf<T, kVectorSize<T>>::type;
  constexpr auto kSize = static_cast<std::ptrdiff_t>(kVectorSize<T>);
  std::ptrdiff_t at = 0;
  for (; at + kSize <= count; at += kSize) store(Vector(code(load<Vector>(from + at)...)), to + at);
  for (; at < count; ++at) to[at] = static_cast<T>(code(from[at]...));
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
