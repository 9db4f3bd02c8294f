// SPDX-License-Identifier: Apache-2.0
/// @file
/// PhiloxGenerator: a counter-based generator of random numbers whose whole state is three integers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// The state of a generator. Generators with equal state give equal numbers, on every platform.
struct PhiloxState {
  std::uint64_t seed{};      ///< the key: numbers of different seeds are independent
  std::uint64_t stream{};    ///< the upper half of the counter: 2^64 streams of one seed that never overlap
  std::uint64_t position{};  ///< the number of 32-bit words drawn from the stream
  friend bool operator==(const PhiloxState&, const PhiloxState&) = default;
};

namespace detail {

/// The Philox4x32-10 block of four words that belongs to block number `block` of a stream: a pure function.
[[nodiscard]] TRAINHOOK_DECL std::array<std::uint32_t, 4> philox_block(std::uint64_t seed, std::uint64_t stream,
                                                                       std::uint64_t block) noexcept;

/// Derives the seed of a part from the seed of the whole.
[[nodiscard]] TRAINHOOK_DECL std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t part) noexcept;

}  // namespace detail

/// A stream of random numbers. Drawing advances `position`, and there is no other state: save `state()` to save the
/// generator; jumping to any position is free. Integers and uniform numbers are the same on every platform; normal
/// numbers use the C library's `log`, `sin` and `cos`, which differ between libraries in the last bit. Not thread-safe.
/// It is a standard UniformRandomBitGenerator, but the standard's distributions differ between libraries: use the
/// members. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11; as used by
/// `tf.random`.
class PhiloxGenerator {
 public:
  using result_type = std::uint32_t;

  explicit PhiloxGenerator(std::uint64_t seed, std::uint64_t stream = 0) noexcept
      : PhiloxGenerator(PhiloxState{seed, stream, 0}) {}
  explicit PhiloxGenerator(const PhiloxState& state) noexcept : state_(state) { load_block(); }

  [[nodiscard]] const PhiloxState& state() const noexcept { return state_; }
  void set_state(const PhiloxState& state) noexcept { *this = PhiloxGenerator(state); }

  /// Skips `words` 32-bit words in constant time.
  TRAINHOOK_DECL void discard(std::uint64_t words) noexcept;

  [[nodiscard]] static constexpr result_type(min)() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type(max)() noexcept { return 0xFFFFFFFFU; }
  result_type operator()() noexcept { return next_u32(); }

  TRAINHOOK_DECL std::uint32_t next_u32() noexcept;

  /// Draws two words, the low one first.
  TRAINHOOK_DECL std::uint64_t next_u64() noexcept;

  /// An integer in [0, bound), uniformly distributed. Takes one word for bounds up to 2^32 and two above; more in the
  /// rare case that a draw is rejected. @throws InvalidArgumentError for a bound of 0.
  TRAINHOOK_DECL std::uint64_t uniform_below(std::uint64_t bound);

  /// A float in [0, 1), a multiple of 2^-24; takes one word.
  float uniform_float() noexcept { return to_float(next_u32()); }

  /// A double in [0, 1), a multiple of 2^-53; takes two words.
  double uniform_double() noexcept { return to_double(next_u64()); }

  /// Two independent standard normal numbers (Box-Muller); takes two words.
  TRAINHOOK_DECL std::array<float, 2> normal_floats() noexcept;

  /// Two independent standard normal numbers (Box-Muller); takes four words.
  TRAINHOOK_DECL std::array<double, 2> normal_doubles() noexcept;

  TRAINHOOK_DECL void fill_uniform(std::span<float> values) noexcept;
  TRAINHOOK_DECL void fill_uniform(std::span<double> values) noexcept;

  /// Fills `values` with standard normal numbers; an odd count leaves the second number of the last pair unused.
  TRAINHOOK_DECL void fill_normal(std::span<float> values) noexcept;
  TRAINHOOK_DECL void fill_normal(std::span<double> values) noexcept;

  /// Fills `values` with standard normal numbers and redraws those beyond two standard deviations, as TensorFlow's
  /// `truncated_normal`.
  TRAINHOOK_DECL void fill_truncated_normal(std::span<float> values) noexcept;
  TRAINHOOK_DECL void fill_truncated_normal(std::span<double> values) noexcept;

  friend bool operator==(const PhiloxGenerator& a, const PhiloxGenerator& b) noexcept { return a.state_ == b.state_; }

 private:
  TRAINHOOK_DECL void load_block() noexcept;
  TRAINHOOK_DECL static float to_float(std::uint32_t word) noexcept;
  TRAINHOOK_DECL static double to_double(std::uint64_t word) noexcept;

  // Lemire's method: the high half of draw * bound is the result; the low half identifies the few draws that would bias
  // it.
  TRAINHOOK_DECL std::uint64_t below_32(std::uint32_t bound) noexcept;
  TRAINHOOK_DECL std::uint64_t below_64(std::uint64_t bound) noexcept;
  TRAINHOOK_DECL static std::uint64_t high_product(std::uint64_t a, std::uint64_t b) noexcept;

  PhiloxState state_;
  std::array<std::uint32_t, 4> block_{};
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/random.ipp>
#endif
