// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes of tensors: fully known (`Shape`) or partly known (`PartialShape`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/core/format.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::int64_t kUnknownDim = -1;

namespace detail {

[[nodiscard]] TRAINHOOK_DECL std::string dims_to_string(std::span<const std::int64_t> dims);

/// Throws the error for too many or too large dimensions, or for one that is below `least`.
[[noreturn]] TRAINHOOK_DECL void throw_bad_shape(std::span<const std::int64_t> dims, std::int64_t least);

}  // namespace detail

/// The extent of each dimension, outermost first; rank 0 is a scalar. At most `kMaxRank` dimensions, held inline.
class Shape {
 public:
  constexpr Shape() noexcept = default;

  /// @throws InvalidArgumentError for a negative dimension, more than `kMaxRank` of them, or if the product of the
  /// dimensions other than 0 exceeds 63 bits. So the product of any of them fits.
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims) {
    if (dims.size() > kMaxRank) detail::throw_bad_shape(dims, 0);
    std::int64_t product = 1;
    for (std::int64_t dim : dims) {
      if (dim < 0 || (dim != 0 && __builtin_mul_overflow(product, dim, &product))) detail::throw_bad_shape(dims, 0);
    }
    for (std::size_t i = 0; i < dims.size(); ++i) dims_[i] = dims[i];
    rank_ = dims.size();
  }

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const noexcept { return dims_[axis]; }
  [[nodiscard]] std::span<const std::int64_t> dims() const noexcept { return {dims_.data(), rank_}; }

  /// The number of elements of a tensor of this shape; 1 for a scalar.
  [[nodiscard]] std::int64_t num_elements() const noexcept {
    std::int64_t product = 1;
    for (std::int64_t dim : dims()) product *= dim;
    return product;
  }

  /// `[2,3]`. fmt prints the same.
  [[nodiscard]] TRAINHOOK_DECL std::string to_string() const;
  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    return a.rank_ == b.rank_ && a.dims_ == b.dims_;  // dimensions past the rank are 0
  }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
};

/// A shape whose rank or some of whose dimensions (`kUnknownDim`) may be unknown until the graph runs.
class PartialShape {
 public:
  /// Unknown rank.
  PartialShape() noexcept = default;

  /// @throws InvalidArgumentError for a dimension below -1, or more than `kMaxRank` of them.
  PartialShape(std::initializer_list<std::int64_t> dims) : PartialShape(std::span(dims.begin(), dims.size())) {}
  explicit PartialShape(std::span<const std::int64_t> dims) : known_rank_(true) {
    if (dims.size() > kMaxRank) detail::throw_bad_shape(dims, kUnknownDim);
    for (std::int64_t dim : dims) {
      if (dim < kUnknownDim) detail::throw_bad_shape(dims, kUnknownDim);
    }
    for (std::size_t i = 0; i < dims.size(); ++i) dims_[i] = dims[i];
    rank_ = dims.size();
  }
  PartialShape(const Shape& shape) : PartialShape(shape.dims()) {}

  [[nodiscard]] bool has_rank() const noexcept { return known_rank_; }
  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const noexcept { return dims_[axis]; }
  [[nodiscard]] std::span<const std::int64_t> dims() const noexcept { return {dims_.data(), rank_}; }

  [[nodiscard]] bool is_fully_known() const noexcept {
    for (const std::int64_t dim : dims()) {
      if (dim == kUnknownDim) return false;
    }
    return known_rank_;
  }

  /// The shape. @throws FailedPreconditionError if the rank or a dimension is unknown.
  [[nodiscard]] TRAINHOOK_DECL Shape known() const;

  /// Whether a tensor can have both this shape and `shape`.
  [[nodiscard]] bool compatible_with(const PartialShape& shape) const noexcept {
    if (!known_rank_ || !shape.known_rank_) return true;
    if (rank_ != shape.rank_) return false;
    for (std::size_t i = 0; i < rank_; ++i) {
      if (dims_[i] != kUnknownDim && shape.dims_[i] != kUnknownDim && dims_[i] != shape.dims_[i]) return false;
    }
    return true;
  }

  /// `[?,3]`, or `<unknown>` for an unknown rank. fmt prints the same.
  [[nodiscard]] TRAINHOOK_DECL std::string to_string() const;
  friend bool operator==(const PartialShape& a, const PartialShape& b) noexcept {
    return a.known_rank_ == b.known_rank_ && a.rank_ == b.rank_ && a.dims_ == b.dims_;
  }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
  bool known_rank_ = false;
};

}  // namespace trainhook

template <>
struct fmt::formatter<trainhook::Shape> : trainhook::detail::ToStringFormatter<trainhook::Shape> {};

template <>
struct fmt::formatter<trainhook::PartialShape> : trainhook::detail::ToStringFormatter<trainhook::PartialShape> {};

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/shape.ipp>
#endif
