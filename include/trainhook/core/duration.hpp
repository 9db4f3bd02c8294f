// SPDX-License-Identifier: Apache-2.0
/// @file
/// Duration: a length of time, and its text form.
#pragma once

#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// A length of time, or a point in time of a clock, in nanoseconds; every `std::chrono` duration of whole numbers
/// converts to it, one of fractions if one asks for it. What is longer than a hundred years, such as
/// `std::chrono::seconds::max()` for "never", becomes `Duration::max()`, a hundred years, so that a sum of two does not
/// overflow: now and "never" is `Duration::max()`.
class Duration : public std::chrono::nanoseconds {
 public:
  constexpr Duration() noexcept : duration(0) {}
  template <class Rep, class Period>
  constexpr explicit(!std::is_integral_v<Rep>) Duration(std::chrono::duration<Rep, Period> length) noexcept
      : duration(!(Seconds(length) <= kLongest) ? std::chrono::nanoseconds(kLongest)
                 : Seconds(length) < -kLongest  ? std::chrono::nanoseconds(-kLongest)
                                                : std::chrono::duration_cast<std::chrono::nanoseconds>(length)) {}

  [[nodiscard]] static constexpr Duration(max)() noexcept { return kLongest; }
  [[nodiscard]] static constexpr Duration(min)() noexcept { return -kLongest; }

 private:
  using Seconds = std::chrono::duration<long double>;  // has room for all of them
  static constexpr std::chrono::hours kLongest{100 * 365 * 24};
};

/// A length of time as an option, or none. A plain number does not compile; the error says that it needs a unit, such
/// as `60s`.
class OptionalDuration : public std::optional<Duration> {
 public:
  OptionalDuration() noexcept = default;
  OptionalDuration(std::nullopt_t) noexcept {}
  OptionalDuration(std::optional<Duration> duration) noexcept : optional(duration) {}
  OptionalDuration(std::convertible_to<Duration> auto duration) noexcept : optional(Duration(duration)) {}
  template <class Number>
    requires std::is_arithmetic_v<Number>
  OptionalDuration(Number) {
    static_assert(!std::is_arithmetic_v<Number>,
                  "a length of time needs its unit: write std::chrono::seconds(60), or 60s with std::chrono_literals");
  }
  template <std::same_as<OptionalDuration> Same>  // not a Duration, which has its own operator
  friend bool operator==(const Same& a, const Same& b) noexcept {
    return static_cast<const std::optional<Duration>&>(a) == static_cast<const std::optional<Duration>&>(b);
  }
};

/// A duration for people: `0.4 s`, `12 s`, `3 min 05 s`, `1 h 04 min`, `3 days 4 h`, `120 days`, `9 years`. Takes a
/// Duration and any other of `std::chrono`.
[[nodiscard]] TRAINHOOK_DECL std::string duration_text(std::chrono::duration<double> duration);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/duration.ipp>
#endif
