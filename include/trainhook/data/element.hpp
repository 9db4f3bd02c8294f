// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element: the tensors that flow through an input pipeline. RowSource: a source with random access. Generator,
/// MapFunction and FilterFunction: what users give to a pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// `Dataset::cardinality` returns these, as in TensorFlow, if the elements never end or their number is unknown.
inline constexpr std::int64_t kInfiniteCardinality = -1;
inline constexpr std::int64_t kUnknownCardinality = -2;

/// One element of a dataset: its components, for example an image and a label.
using Element = std::vector<Tensor>;

/// The dtypes and shapes of an element's components, as far as they are known without the data.
using ElementSpec = std::vector<OutputSpec>;

/// The spec that describes exactly this element.
[[nodiscard]] TRAINHOOK_DECL ElementSpec spec_of(const Element& element);

namespace detail {

/// Formats a spec for messages, as in `(float32[784], int64[])`.
[[nodiscard]] TRAINHOOK_DECL std::string spec_to_string(const ElementSpec& spec);

TRAINHOOK_DECL bool matches(const ElementSpec& spec, const Element& element) noexcept;

/// @throws InvalidArgumentError, naming `stage`, if `element` does not match its spec.
TRAINHOOK_DECL void check_element(const ElementSpec& spec, const Element& element, std::string_view stage);

TRAINHOOK_DECL Shape with_leading_dim(std::int64_t count, std::span<const std::int64_t> dims);

/// Prepares a tensor of shape `[count] + dims` for overwriting; does nothing if it has that shape and is not shared.
TRAINHOOK_DECL void reset_to_rows(Tensor& tensor, DType dtype, std::int64_t count, std::span<const std::int64_t> dims);

/// Copies row `from` of `rows` to `to`, a tensor of the row's shape.
TRAINHOOK_DECL void copy_row_out(const Tensor& rows, std::size_t from, Tensor& to);

/// Stacks component `component` of all rows into one tensor with a leading dimension.
TRAINHOOK_DECL void stack_component(std::span<const Element> rows, std::size_t component, Tensor& batch);

/// Stacks elements into one. @throws InvalidArgumentError if their dtypes or shapes differ.
TRAINHOOK_DECL void stack(std::span<const Element> rows, Element& batch);

}  // namespace detail

/// A source whose elements can be fetched by number, each at the same cost. Shuffling it moves numbers instead of
/// contents, and batches are gathered directly into place. Implementations are immutable and may be read by several
/// threads at once.
class RowSource {
 public:
  virtual ~RowSource() = default;

  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;
  [[nodiscard]] virtual const ElementSpec& element_spec() const noexcept = 0;

  /// Describes the source in messages and saved states. A state can be restored only if this text is the same.
  [[nodiscard]] virtual std::string describe() const = 0;

  /// Fetches element `index`, in [0, size). `row` may hold the tensors of an earlier element, to reuse their memory.
  virtual void read(std::int64_t index, Element& row) const = 0;

  /// Fetches several elements as one with a leading dimension. `indices` is not empty.
  TRAINHOOK_DECL virtual void gather(std::span<const std::int64_t> indices, Element& batch) const;
};

/// One pass over the elements of a generator. `next` stores the next element in its argument and returns true, or
/// returns false at the end. `save` and `restore` save its position; without them the pipeline has external state. If
/// `prefetch` or a parallel `map` follows, another thread calls `next`, and `save` before it. `next` may then wait for
/// the program, but must return before the iterator is restored or destroyed.
struct Generator {
  std::function<bool(Element& element)> next{};
  std::function<std::string()> save{};
  std::function<void(std::string_view state)> restore{};
};

using MapFunction = std::function<Element(Element element)>;
using FilterFunction = std::function<bool(const Element& element)>;

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/element.ipp>
#endif
