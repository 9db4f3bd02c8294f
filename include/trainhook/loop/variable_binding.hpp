// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a LoopSession knows of a variable whose memory belongs to the user: where it lies, how it is read and written.
#pragma once

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

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/loop/memory_layout.hpp>

namespace trainhook {

/// How memory is to be seen as a variable.
struct MemoryOptions {
  PartialShape
      shape{};  ///< default: `{size}`, `{}` of a single value, `{rows, cols}` of a matrix type; one dimension may be -1
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
    if constexpr (requires { requires static_cast<bool>(M::IsVectorAtCompileTime); })
      return {static_cast<std::int64_t>(memory.size())};
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
  if constexpr (DenseMatrix<M> && requires {
                  memory.innerStride();
                  memory.outerStride();
                  memory.innerSize();
                }) {
    if (memory.size() > 0 && (memory.innerStride() != 1 || memory.outerStride() != memory.innerSize())) {
      throw InvalidArgumentError(
          "variable '{}' is a view with gaps in its memory; register the whole matrix, or read and write functions",
          name);
    }
  }
}

/// The shape that the user wants for memory of `count` elements.
TRAINHOOK_DECL Shape resolve_shape(std::string_view name, const PartialShape& wanted, const Shape& natural);

/// @throws unless `value` may become the value of what is called `name`.
TRAINHOOK_DECL void check_value(const std::string& name, DType dtype, const PartialShape& shape, const Tensor& value);

/// A variable of a LoopSession. Reading goes through one staging tensor, whose buffer is used again when nobody else
/// holds it any more.
class VariableBinding {
 public:
  /// Memory that `memory()` finds, or throws where it is not what was registered.
  TRAINHOOK_DECL VariableBinding(const Variable& variable, std::function<std::span<std::byte>()> memory, Layout layout);
  TRAINHOOK_DECL VariableBinding(const Variable& variable, ExternalVariable external);

  [[nodiscard]] const std::string& name() const { return variable_.name(); }
  [[nodiscard]] const Variable& variable() const noexcept { return variable_; }
  [[nodiscard]] DType dtype() const { return variable_.dtype(); }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }

  /// Whether writing is code of the user's, which may throw.
  [[nodiscard]] bool is_external() const noexcept { return !memory_; }

  /// The present values.
  [[nodiscard]] TRAINHOOK_DECL Tensor read();

  /// @throws unless `write(value)` can be done.
  TRAINHOOK_DECL void check(const Tensor& value) const;

  TRAINHOOK_DECL void write(const Tensor& value);

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
      throw FailedPreconditionError(
          "variable '{}' had shape {} when it was registered and has {} now; its memory must keep its size as long as "
          "the session lives",
          name, registered, now);
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

/// Memory that can be a variable: a number, a truth value, or an object that holds such in one piece, as vectors,
/// arrays and dense matrices do.
template <class M>
concept VariableMemory =
    !std::is_const_v<M> && !detail::kIsSpan<M> && (detail::SingleValue<M> || detail::DenseContainer<M>);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/variable_binding.ipp>
#endif
