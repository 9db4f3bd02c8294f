// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random numbers that are state: a counter-based generator whose whole state is three integers.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

// The generator's own header is written in C and trips over warnings that users may have made errors.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <Random123/philox.h>
#pragma GCC diagnostic pop

#include <trainhook/core/error.hpp>

namespace trainhook {

/// Where a generator stands. Two generators of equal state give equal numbers for ever, on every platform.
struct PhiloxState {
  std::uint64_t seed{};      ///< the key: numbers of different seeds have nothing to do with each other
  std::uint64_t stream{};    ///< the upper half of the counter: 2^64 streams of one seed that never overlap
  std::uint64_t position{};  ///< how many 32-bit words of the stream were drawn
  friend bool operator==(const PhiloxState&, const PhiloxState&) = default;
};

/// The Philox4x32-10 block of four words that belongs to block number `block` of a stream: a pure function.
[[nodiscard]] inline std::array<std::uint32_t, 4> philox_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) noexcept {
  r123::Philox4x32::ctr_type counter{};
  r123::Philox4x32::key_type key{};
  const auto split = [](auto& words, std::size_t at, std::uint64_t value) {
    words[at] = static_cast<std::uint32_t>(value);
    words[at + 1] = static_cast<std::uint32_t>(value >> 32);
  };
  split(counter, 0, block);
  split(counter, 2, stream);
  split(key, 0, seed);
  const r123::Philox4x32::ctr_type result = r123::Philox4x32{}(counter, key);
  return {result[0], result[1], result[2], result[3]};
}

/// One number out of two, for seeds of parts that are derived from the seed of a whole.
[[nodiscard]] inline std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t part) noexcept {
  const std::array<std::uint32_t, 4> words = philox_block(seed, ~std::uint64_t{0}, part);  // the last stream is set aside for this
  return words[0] | static_cast<std::uint64_t>(words[1]) << 32;
}

/// A stream of random numbers. Drawing moves `position`; nothing else is remembered, so that saving a generator means saving its state and
/// jumping anywhere costs nothing. Integers and uniform numbers are the same everywhere; normal ones go through the C library's `log`,
/// `sin` and `cos`, which differ between libraries in the last bit. For one thread at a time.
/// Also a standard UniformRandomBitGenerator, but no standard distribution is specified exactly: use the members.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11; as used by `tf.random`.
class PhiloxGenerator {
 public:
  using result_type = std::uint32_t;

  explicit PhiloxGenerator(std::uint64_t seed, std::uint64_t stream = 0) noexcept : PhiloxGenerator(PhiloxState{seed, stream, 0}) {}
  explicit PhiloxGenerator(const PhiloxState& state) noexcept : state_(state) { load_block(); }

  [[nodiscard]] const PhiloxState& state() const noexcept { return state_; }
  void set_state(const PhiloxState& state) noexcept { *this = PhiloxGenerator(state); }

  /// Skips `words` 32-bit words in constant time.
  void discard(std::uint64_t words) noexcept { set_state({state_.seed, state_.stream, state_.position + words}); }

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept { return 0xFFFFFFFFU; }
  result_type operator()() noexcept { return next_u32(); }

  std::uint32_t next_u32() noexcept {
    const std::uint32_t word = block_[state_.position % 4];
    if (++state_.position % 4 == 0) load_block();
    return word;
  }

  /// Two words, the low one first.
  std::uint64_t next_u64() noexcept {
    const std::uint64_t low = next_u32();
    return low | static_cast<std::uint64_t>(next_u32()) << 32;
  }

  /// An integer of [0, bound), each with the same probability: one word for bounds up to 2^32, two above, more in the rare
  /// case that a draw is rejected. @throws InvalidArgumentError for a bound of 0.
  std::uint64_t uniform_below(std::uint64_t bound) {
    if (bound == 0) throw InvalidArgumentError("there is no random integer below 0");
    return bound <= 0xFFFFFFFFU ? below_32(static_cast<std::uint32_t>(bound)) : below_64(bound);
  }

  /// A float of [0, 1), a multiple of 2^-24; one word.
  float uniform_float() noexcept { return to_float(next_u32()); }

  /// A double of [0, 1), a multiple of 2^-53; two words.
  double uniform_double() noexcept { return to_double(next_u64()); }

  /// Two independent standard normal numbers (Box-Muller); two words.
  std::array<float, 2> normal_floats() noexcept {
    const float radius_draw = to_float(next_u32());
    return box_muller(radius_draw, to_float(next_u32()));
  }

  /// Two independent standard normal numbers (Box-Muller); four words.
  std::array<double, 2> normal_doubles() noexcept {
    const double radius_draw = to_double(next_u64());
    return box_muller(radius_draw, to_double(next_u64()));
  }

  void fill_uniform(std::span<float> values) noexcept {
    for (float& value : values) value = uniform_float();
  }
  void fill_uniform(std::span<double> values) noexcept {
    for (double& value : values) value = uniform_double();
  }

  /// Standard normal numbers; an odd count leaves the second number of the last pair unused.
  void fill_normal(std::span<float> values) noexcept {
    fill_pairs(values, [this] { return normal_floats(); });
  }
  void fill_normal(std::span<double> values) noexcept {
    fill_pairs(values, [this] { return normal_doubles(); });
  }

  /// Standard normal numbers of which those beyond two standard deviations are drawn again, as TensorFlow's `truncated_normal`.
  void fill_truncated_normal(std::span<float> values) noexcept {
    fill_truncated(values, [this] { return normal_floats(); });
  }
  void fill_truncated_normal(std::span<double> values) noexcept {
    fill_truncated(values, [this] { return normal_doubles(); });
  }

  friend bool operator==(const PhiloxGenerator& a, const PhiloxGenerator& b) noexcept { return a.state_ == b.state_; }

 private:
  void load_block() noexcept { block_ = philox_block(state_.seed, state_.stream, state_.position / 4); }

  static float to_float(std::uint32_t word) noexcept { return static_cast<float>(word >> 8) * 0x1p-24F; }
  static double to_double(std::uint64_t word) noexcept { return static_cast<double>(word >> 11) * 0x1p-53; }

  // Lemire's method: the high half of draw * bound is the result, the low half tells the few draws that would make some results likelier.
  std::uint64_t below_32(std::uint32_t bound) noexcept {
    for (;;) {
      const std::uint64_t product = static_cast<std::uint64_t>(next_u32()) * bound;
      const auto low = static_cast<std::uint32_t>(product);
      if (low >= bound || low >= (0U - bound) % bound) return product >> 32;  // the first test spares most draws the division
    }
  }
  std::uint64_t below_64(std::uint64_t bound) noexcept {
    const std::uint64_t rejected = (std::uint64_t{0} - bound) % bound;
    for (;;) {
      const std::uint64_t draw = next_u64();
      if (draw * bound >= rejected) return high_product(draw, bound);
    }
  }
  static std::uint64_t high_product(std::uint64_t a, std::uint64_t b) noexcept {
    const std::uint64_t a_low = a & 0xFFFFFFFFU, a_high = a >> 32, b_low = b & 0xFFFFFFFFU, b_high = b >> 32;
    const std::uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    const std::uint64_t other = a_low * b_high + (middle & 0xFFFFFFFFU);
    return a_high * b_high + (middle >> 32) + (other >> 32);
  }

  template <class T>
  static std::array<T, 2> box_muller(T radius_draw, T angle_draw) noexcept {
    const T radius = std::sqrt(T{-2} * std::log(T{1} - radius_draw));  // 1 - [0, 1) is never 0
    const T angle = T{2} * std::numbers::pi_v<T> * angle_draw;
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

  template <class T, class Draw>
  static void fill_pairs(std::span<T> values, Draw draw) noexcept {
    for (std::size_t i = 0; i < values.size(); i += 2) {
      const std::array<T, 2> pair = draw();
      values[i] = pair[0];
      if (i + 1 < values.size()) values[i + 1] = pair[1];
    }
  }
  template <class T, class Draw>
  static void fill_truncated(std::span<T> values, Draw draw) noexcept {
    std::size_t filled = 0;
    while (filled < values.size()) {
      for (T value : draw()) {
        if (filled < values.size() && std::abs(value) <= T{2}) values[filled++] = value;
      }
    }
  }

  PhiloxState state_;
  std::array<std::uint32_t, 4> block_{};
};

}  // namespace trainhook
