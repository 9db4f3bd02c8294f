// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a LoopSession knows of a variable whose memory belongs to the user: where it lies, how it is read and written.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/loop/memory_layout.hpp>

namespace trainhook {

/// How memory is to be seen as a variable.
struct MemoryOptions {
  PartialShape shape{};            ///< default: `{size}`, `{}` of a single value, `{rows, cols}` of a matrix type; one dimension may be -1
  std::optional<Layout> layout{};  ///< default: as a matrix type says, else row-major; checkpoints hold row-major
  bool trainable = true;           ///< whether it also stands in the collection of trainable variables
};

/// A variable whose memory is not the host's, or not in one piece. Both functions see all elements in row-major order.
struct ExternalVariable {
  DType dtype = DType::Invalid;
  Shape shape{};
  std::function<void(std::span<std::byte>)> read{};         ///< fills the span with the present values
  std::function<void(std::span<const std::byte>)> write{};  ///< takes the span's values over
  bool trainable = true;
};

namespace detail {

template <class M>
using PointedElement = std::remove_pointer_t<decltype(std::data(std::declval<M&>()))>;

/// One object that holds its elements in one piece: vectors, arrays, dense matrices.
template <class M>
concept DenseContainer = requires(M& memory) {
  std::data(memory);
  std::size(memory);
  requires TensorElement<PointedElement<M>>;
  requires !std::same_as<PointedElement<M>, std::string>;
};

/// A matrix type in the manner of Eigen's.
template <class M>
concept DenseMatrix = DenseContainer<M> && requires(const M& memory) {
  memory.rows();
  memory.cols();
  static_cast<bool>(M::IsRowMajor);
};

template <class T>
concept SingleValue = TensorElement<T> && !std::same_as<T, std::string>;

/// What memory of type `M` consists of.
template <class M>
struct ElementOf {
  using Type = M;
};
template <DenseContainer M>
struct ElementOf<M> {
  using Type = PointedElement<M>;
};
template <class M>
using MemoryElement = typename ElementOf<M>::Type;

template <class T>
inline constexpr bool kIsSpan = false;
template <class T, std::size_t Extent>
inline constexpr bool kIsSpan<std::span<T, Extent>> = true;

template <class M>
Shape natural_shape(const M& memory) {
  if constexpr (SingleValue<M>) {
    return {};
  } else if constexpr (DenseMatrix<M>) {
    if constexpr (requires { requires static_cast<bool>(M::IsVectorAtCompileTime); }) return {static_cast<std::int64_t>(memory.size())};
    return {static_cast<std::int64_t>(memory.rows()), static_cast<std::int64_t>(memory.cols())};
  } else {
    return {static_cast<std::int64_t>(std::size(memory))};
  }
}

template <class M>
std::span<std::byte> bytes_of(M& memory) noexcept {
  if constexpr (SingleValue<M>) {
    return std::as_writable_bytes(std::span(&memory, 1));
  } else {
    return std::as_writable_bytes(std::span(std::data(memory), static_cast<std::size_t>(std::size(memory))));
  }
}

/// A view of a part of a matrix has gaps between its columns, which would be taken for elements.
template <class M>
void check_in_one_piece(std::string_view name, const M& memory) {
  if constexpr (DenseMatrix<M> && requires { memory.innerStride(); memory.outerStride(); memory.innerSize(); }) {
    if (memory.size() > 0 && (memory.innerStride() != 1 || memory.outerStride() != memory.innerSize())) {
      throw InvalidArgumentError("variable '", name,
                                 "' is a view with gaps in its memory; register the whole matrix, or read and write functions");
    }
  }
}

/// The shape that the user wants for memory of `count` elements.
inline Shape resolve_shape(std::string_view name, const PartialShape& wanted, const Shape& natural) {
  if (!wanted.has_rank()) return natural;
  const std::int64_t count = natural.num_elements();
  std::array<std::int64_t, kMaxRank> dims{};
  std::ranges::copy(wanted.dims(), dims.begin());
  const std::span<std::int64_t> used(dims.data(), wanted.rank());
  std::int64_t known = 1;
  bool fits = std::ranges::count(used, kUnknownDim) <= 1;
  for (const std::int64_t dim : used) fits = fits && !__builtin_mul_overflow(known, dim == kUnknownDim ? 1 : dim, &known);
  if (const auto unknown = std::ranges::find(used, kUnknownDim); fits && unknown != used.end() && known > 0) {
    *unknown = count / known;
    known *= *unknown;
  }
  fits = fits && known == count && std::ranges::find(used, kUnknownDim) == used.end();
  if (!fits) throw InvalidArgumentError("variable '", name, "': shape ", wanted, " does not fit the ", count, " elements of its memory");
  return Shape(used);
}

/// @throws unless `value` may become the value of what is called `name`.
inline void check_value(const std::string& name, DType dtype, const PartialShape& shape, const Tensor& value) {
  if (value.dtype() != dtype || !shape.compatible_with(value.shape())) {
    throw InvalidArgumentError("'", name, "' is ", dtype_name(dtype), shape, " and cannot take ", value);
  }
  if (dtype == DType::Bool && std::ranges::any_of(value.bytes(), [](std::byte item) { return item > std::byte{1}; })) {
    throw DataLossError("'", name, "': a truth value is neither 0 nor 1");
  }
}

/// A variable of a LoopSession. Reading goes through one staging tensor, whose buffer is used again when nobody else holds it any more.
class VariableBinding {
 public:
  /// Memory that `memory()` finds, or throws where it is not what was registered.
  VariableBinding(const Variable& variable, std::function<std::span<std::byte>()> memory, Layout layout)
      : variable_(variable), shape_(variable.shape().known()), memory_(std::move(memory)), layout_(layout) {}
  VariableBinding(const Variable& variable, ExternalVariable external)
      : variable_(variable), shape_(variable.shape().known()), external_(std::move(external)) {}

  [[nodiscard]] const std::string& name() const { return variable_.name(); }
  [[nodiscard]] const Variable& variable() const noexcept { return variable_; }
  [[nodiscard]] DType dtype() const { return variable_.dtype(); }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }

  /// Whether writing is code of the user's, which may throw.
  [[nodiscard]] bool is_external() const noexcept { return !memory_; }

  /// The present values.
  [[nodiscard]] Tensor read() {
    std::span<const std::byte> memory;
    if (memory_) memory = memory_();
    staging_.reset_to(dtype(), shape_);
    if (memory_) {
      to_row_major(memory, layout_, shape_, staging_.overwrite_bytes());
    } else {
      external_.read(staging_.overwrite_bytes());
    }
    return staging_;
  }

  /// @throws unless `write(value)` can be done.
  void check(const Tensor& value) const {
    check_value(name(), dtype(), shape_, value);
    if (memory_) (void)memory_();
  }

  void write(const Tensor& value) {
    if (memory_) {
      from_row_major(value.bytes(), layout_, shape_, memory_());
    } else {
      external_.write(value.bytes());
    }
  }

  bool initialized = true;

 private:
  Variable variable_;
  Shape shape_;
  std::function<std::span<std::byte>()> memory_;
  Layout layout_ = Layout::RowMajor;
  ExternalVariable external_;
  Tensor staging_;
};

/// Finds the memory of a container anew at each call, because a vector may have got other memory in the meantime.
template <class M>
[[nodiscard]] std::function<std::span<std::byte>()> memory_finder(std::string_view name, M& memory) {
  return [name = std::string(name), &memory, registered = natural_shape(memory)] {
    if (const Shape now = natural_shape(memory); now != registered) {
      throw FailedPreconditionError("variable '", name, "' had shape ", registered, " when it was registered and has ", now,
                                    " now; its memory must keep its size as long as the session lives");
    }
    return bytes_of(memory);
  };
}

template <class M>
[[nodiscard]] Layout natural_layout() noexcept {
  if constexpr (DenseMatrix<M>) {
    if constexpr (!static_cast<bool>(M::IsRowMajor)) return Layout::ColumnMajor;
  }
  return Layout::RowMajor;
}

}  // namespace detail

/// Memory that can be a variable: a number, a truth value, or an object that holds such in one piece, as vectors, arrays and dense matrices
/// do.
template <class M>
concept VariableMemory = !std::is_const_v<M> && !detail::kIsSpan<M> && (detail::SingleValue<M> || detail::DenseContainer<M>);

}  // namespace trainhook
