// SPDX-License-Identifier: Apache-2.0
/// @file
/// VariableMemory: the types of objects that can be variables of a LoopSession. Layout: row-major and column-major
/// memory, and copies between them.
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
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

/// The order of a matrix in memory: by rows, or by columns as in Fortran and, by default, in Eigen.
enum class Layout { RowMajor, ColumnMajor };

namespace detail {

TRAINHOOK_DECL void transpose(std::span<const std::byte> from, std::span<std::byte> to, std::size_t rows,
                              std::size_t columns);

/// Copies memory of `layout` to row-major `to`. Both hold a tensor of `shape`.
TRAINHOOK_DECL void to_row_major(std::span<const std::byte> memory, Layout layout, const Shape& shape,
                                 std::span<std::byte> to);

/// Copies row-major `from` to memory of `layout`.
TRAINHOOK_DECL void from_row_major(std::span<const std::byte> from, Layout layout, const Shape& shape,
                                   std::span<std::byte> memory);

}  // namespace detail

/// Says that a variable is a region of a tensor that the processes of a job share. A checkpoint holds the tensor, and
/// any number of processes restores other regions of it. In a job of one process the regions of all variables are those
/// of this process. Elements that no process has are not saved, with a warning.
struct PartOf {
  Shape shape{};                       ///< of the tensor; a variable that is no region has none
  std::vector<std::int64_t> offset{};  ///< of the region's first element in it, for each dimension
  std::string name{};                  ///< of the tensor in checkpoints; default: the variable's
};

/// Options of a variable.
struct MemoryOptions {
  /// Default: `{size}`, `{}` for a single value, `{rows, cols}` for a matrix type. One dimension may be -1.
  PartialShape shape{};
  std::optional<Layout> layout{};  ///< default: the matrix type's, or else row-major; checkpoints are row-major
  bool trainable = true;           ///< also adds it to the collection of trainable variables
  PartOf part_of{};                ///< for a region of a tensor that the processes of a job share

  /// For a vector or a dense matrix whose number of rows changes in training, such as particles: a save stores as many
  /// as there are, and a restore resizes it to those of the checkpoint. All other dimensions stay.
  bool resizable = false;

  OnResume on_resume = OnResume::Restore;  ///< KeepInitial: a restart with another value changes it
};

/// A variable whose memory is not on the host or not contiguous. Both functions transfer all elements, in row-major
/// order.
struct ExternalVariable {
  DType dtype = DType::Invalid;
  Shape shape{};
  std::function<void(std::span<std::byte>)> read{};         ///< writes the current values into the span
  std::function<void(std::span<const std::byte>)> write{};  ///< copies the span to the variable

  /// Optional, for saves in the background: copies the values on the device, and returns a function that brings the
  /// copy to the host, on any thread, also after the session; or an empty one if there is no room.
  std::function<std::function<Tensor()>()> snapshot{};

  bool trainable = true;
  PartOf part_of{};                        ///< for a region of a tensor that the processes of a job share
  OnResume on_resume = OnResume::Restore;  ///< KeepInitial: a restart with another value changes it
};

namespace detail {

template <class M>
using PointedElement = std::remove_pointer_t<decltype(std::data(std::declval<M&>()))>;

/// An object with contiguous elements: vectors, arrays, dense matrices.
template <class M>
concept DenseContainer = requires(M& memory) {
  std::data(memory);
  std::size(memory);
  requires TensorElement<PointedElement<M>>;
  requires !std::same_as<PointedElement<M>, std::string>;
};

/// A matrix type like Eigen's.
template <class M>
concept DenseMatrix = DenseContainer<M> && requires(const M& memory) {
  memory.rows();
  memory.cols();
  static_cast<bool>(M::IsRowMajor);
};

template <class T>
concept SingleValue = TensorElement<T> && !std::same_as<T, std::string>;

template <class T>
inline constexpr bool kIsSpan = false;
template <class T, std::size_t Extent>
inline constexpr bool kIsSpan<std::span<T, Extent>> = true;

/// The number of elements of a range, where its type tells it.
template <class R>
inline constexpr std::int64_t kSizeOfType = kUnknownDim;
template <class R>
  requires requires { requires decltype(std::span(std::declval<const R&>()))::extent != std::dynamic_extent; }
inline constexpr std::int64_t kSizeOfType<R> = decltype(std::span(std::declval<const R&>()))::extent;

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

/// The elements of memory: of a container, or the single value.
template <class M>
auto memory_elements(M& memory) noexcept {
  if constexpr (SingleValue<M>) {
    return std::span(&memory, 1);
  } else {
    return std::span(std::data(memory), static_cast<std::size_t>(std::size(memory)));
  }
}

template <class M>
using MemoryElement = typename decltype(memory_elements(std::declval<M&>()))::element_type;

/// @throws InvalidArgumentError if the variable is a view of a part of a matrix with gaps between its columns.
template <class M>
void check_in_one_piece(std::string_view name, const M& memory) {
  if constexpr (DenseMatrix<M> && requires {
                  memory.innerStride();
                  memory.outerStride();
                  memory.innerSize();
                }) {
    if (memory.size() > 0 && (memory.innerStride() != 1 || memory.outerStride() != memory.innerSize()))
      throw InvalidArgumentError(
          "variable '{}' is a view with gaps in its memory; register the whole matrix, or read and write functions",
          name);
  }
}

/// A container that can get another number of rows: of elements, if it is no matrix.
template <class M>
concept ResizableMemory = DenseContainer<M> && std::copyable<M> && std::default_initializable<M> &&
                          requires(M& memory) { memory.resize(std::size(memory)); } &&
                          (!DenseMatrix<M> || requires { requires static_cast<int>(M::RowsAtCompileTime) == -1; });

/// The current address and shape of memory.
struct MemoryView {
  std::span<std::byte> bytes{};
  Shape shape{};
};

/// Looks at the container again at each call, because a vector may have reallocated.
template <class M>
[[nodiscard]] std::function<MemoryView()> memory_viewer(M& memory) {
  return [&memory] { return MemoryView{std::as_writable_bytes(memory_elements(memory)), natural_shape(memory)}; };
}

template <class M>
[[nodiscard]] M empty_like(const M& memory) {
  if constexpr (requires { M(memory.get_allocator()); }) return M(memory.get_allocator());
  return M();
}

/// Makes memory for another number of elements, in whole rows. The result exchanges it with what is there, and does not
/// throw; a second call takes that back.
using MemoryResizer = std::function<std::function<void()>(std::int64_t count)>;

/// Empty for memory whose size is fixed.
template <class M>
[[nodiscard]] MemoryResizer memory_resizer(M& memory) {
  if constexpr (ResizableMemory<M>) {
    return [&memory](std::int64_t count) -> std::function<void()> {
      M other = empty_like(memory);
      if constexpr (DenseMatrix<M>) {
        other.resize(memory.cols() == 0 ? 0 : count / memory.cols(), memory.cols());
      } else {
        other.resize(static_cast<decltype(std::size(memory))>(count));
      }
      return [&memory, other = std::move(other)]() mutable { std::ranges::swap(memory, other); };
    };
  }
  return nullptr;
}

template <class M>
[[nodiscard]] Layout natural_layout() noexcept {
  if constexpr (DenseMatrix<M>) return static_cast<bool>(M::IsRowMajor) ? Layout::RowMajor : Layout::ColumnMajor;
  return Layout::RowMajor;
}

}  // namespace detail

/// Memory that can be a variable: a number, a bool, or a vector, array or dense matrix of them.
template <class M>
concept VariableMemory =
    !std::is_const_v<M> && !detail::kIsSpan<M> && (detail::SingleValue<M> || detail::DenseContainer<M>);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/variable_memory.ipp>
#endif
