// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/random.hpp>

#include <cmath>
#include <cstddef>
#include <numbers>

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

namespace trainhook::detail {

template <class T>
std::array<T, 2> box_muller(T radius_draw, T angle_draw) noexcept {
  const T radius = std::sqrt(T{-2} * std::log(T{1} - radius_draw));  // 1 - [0, 1) is never 0
  const T angle = T{2} * std::numbers::pi_v<T> * angle_draw;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <class T, class Draw>
void fill_pairs(std::span<T> values, Draw draw) noexcept {
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const std::array<T, 2> pair = draw();
    values[i] = pair[0];
    if (i + 1 < values.size()) values[i + 1] = pair[1];
  }
}
template <class T, class Draw>
void fill_truncated(std::span<T> values, Draw draw) noexcept {
  std::size_t filled = 0;
  while (filled < values.size()) {
    for (T value : draw()) {
      if (filled < values.size() && (std::abs)(value) <= T{2}) values[filled++] = value;
    }
  }
}

std::array<std::uint32_t, 4> philox_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) noexcept {
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

std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t part) noexcept {
  const std::array<std::uint32_t, 4> words =
      philox_block(seed, ~std::uint64_t{0}, part);  // the last stream is set aside for this
  return words[0] | static_cast<std::uint64_t>(words[1]) << 32;
}

}  // namespace trainhook::detail

namespace trainhook {

void PhiloxGenerator::discard(std::uint64_t words) noexcept {
  set_state({state_.seed, state_.stream, state_.position + words});
}

std::uint32_t PhiloxGenerator::next_u32() noexcept {
  const std::uint32_t word = block_[state_.position % 4];
  if (++state_.position % 4 == 0) load_block();
  return word;
}

std::uint64_t PhiloxGenerator::next_u64() noexcept {
  const std::uint64_t low = next_u32();
  return low | static_cast<std::uint64_t>(next_u32()) << 32;
}

std::uint64_t PhiloxGenerator::uniform_below(std::uint64_t bound) {
  if (bound == 0) throw InvalidArgumentError("there is no random integer below 0");
  return bound <= 0xFFFFFFFFU ? below_32(static_cast<std::uint32_t>(bound)) : below_64(bound);
}

std::array<float, 2> PhiloxGenerator::normal_floats() noexcept {
  const float radius_draw = to_float(next_u32());
  return detail::box_muller(radius_draw, to_float(next_u32()));
}

std::array<double, 2> PhiloxGenerator::normal_doubles() noexcept {
  const double radius_draw = to_double(next_u64());
  return detail::box_muller(radius_draw, to_double(next_u64()));
}

void PhiloxGenerator::fill_uniform(std::span<float> values) noexcept {
  for (float& value : values) value = uniform_float();
}

void PhiloxGenerator::fill_uniform(std::span<double> values) noexcept {
  for (double& value : values) value = uniform_double();
}

void PhiloxGenerator::fill_normal(std::span<float> values) noexcept {
  detail::fill_pairs(values, [this] { return normal_floats(); });
}

void PhiloxGenerator::fill_normal(std::span<double> values) noexcept {
  detail::fill_pairs(values, [this] { return normal_doubles(); });
}

void PhiloxGenerator::fill_truncated_normal(std::span<float> values) noexcept {
  detail::fill_truncated(values, [this] { return normal_floats(); });
}

void PhiloxGenerator::fill_truncated_normal(std::span<double> values) noexcept {
  detail::fill_truncated(values, [this] { return normal_doubles(); });
}

void PhiloxGenerator::load_block() noexcept {
  block_ = detail::philox_block(state_.seed, state_.stream, state_.position / 4);
}

float PhiloxGenerator::to_float(std::uint32_t word) noexcept { return static_cast<float>(word >> 8) * 0x1p-24F; }

double PhiloxGenerator::to_double(std::uint64_t word) noexcept { return static_cast<double>(word >> 11) * 0x1p-53; }

std::uint64_t PhiloxGenerator::below_32(std::uint32_t bound) noexcept {
  for (;;) {
    const std::uint64_t product = static_cast<std::uint64_t>(next_u32()) * bound;
    const auto low = static_cast<std::uint32_t>(product);
    if (low >= bound || low >= (0U - bound) % bound)
      return product >> 32;  // the first test spares most draws the division
  }
}

std::uint64_t PhiloxGenerator::below_64(std::uint64_t bound) noexcept {
  const std::uint64_t rejected = (std::uint64_t{0} - bound) % bound;
  for (;;) {
    const std::uint64_t draw = next_u64();
    if (draw * bound >= rejected) return high_product(draw, bound);
  }
}

std::uint64_t PhiloxGenerator::high_product(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t a_low = a & 0xFFFFFFFFU, a_high = a >> 32, b_low = b & 0xFFFFFFFFU, b_high = b >> 32;
  const std::uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  const std::uint64_t other = a_low * b_high + (middle & 0xFFFFFFFFU);
  return a_high * b_high + (middle >> 32) + (other >> 32);
}

}  // namespace trainhook
