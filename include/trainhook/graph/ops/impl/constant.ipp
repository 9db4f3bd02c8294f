// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/ops/constant.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

/// The shape of the constant in the attribute `value`, which has to be of the dtype in the attribute `dtype`.
inline PartialShape const_shape(const NodeSpec& node, std::size_t) {
  const Tensor& value = attr_of<Tensor>(node, "value");
  if (value.dtype() != attr_of<DType>(node, "dtype")) {
    throw InvalidArgumentError("{} holds {}{}, which is not of its dtype", label(node), value.dtype(), value.shape());
  }
  return value.shape();
}

inline PartialShape placeholder_with_default_shape(const NodeSpec& node, std::size_t) {
  const auto& shape = attr_of<PartialShape>(node, "shape");
  if (!node.inputs[0].shape().compatible_with(shape))
    throw InvalidArgumentError("{}: the default {} does not fit shape {}", label(node), node.inputs[0], shape);
  return shape;
}

inline constexpr OpDef kConstOp{"Const", "-> dtype", "dtype:type value:tensor", const_shape};
inline constexpr OpDef kOnesLikeOp{"OnesLike", "T -> T", "T:{bool,number}", shape_rules::like<0>, no_gradient};
inline constexpr OpDef kPlaceholderOp{"Placeholder", "-> dtype", "dtype:type shape:shape=?", shape_rules::attr_shape};
inline constexpr OpDef kPlaceholderWithDefaultOp{"PlaceholderWithDefault", "dtype -> dtype", "shape:shape",
                                                 placeholder_with_default_shape,
                                                 [](const GradientContext& context) { return Grads{context.grad()}; }};
inline constexpr OpDef kZerosLikeOp{"ZerosLike", "T -> T", "", shape_rules::like<0>, no_gradient};

inline constexpr std::array kConstantOps{&kConstOp, &kOnesLikeOp, &kPlaceholderOp, &kPlaceholderWithDefaultOp,
                                         &kZerosLikeOp};

OpFamily constant_ops() noexcept { return kConstantOps; }

}  // namespace trainhook::detail

namespace trainhook {

Output constant(Graph& graph, const Tensor& value, std::string_view name) {
  if (!value.has_value()) throw InvalidArgumentError("constant {}: the tensor holds no value", name);
  return detail::add_node(graph, detail::kConstOp,
                          {.name = std::string(name), .attrs = {{"dtype", value.dtype()}, {"value", value}}})
      .output();
}

Output placeholder(Graph& graph, DType dtype, const PartialShape& shape, std::string_view name) {
  if (dtype_name(dtype) == "invalid") throw InvalidArgumentError("placeholder {} needs a dtype", name);
  return detail::add_node(graph, detail::kPlaceholderOp,
                          {.name = std::string(name), .attrs = {{"dtype", dtype}, {"shape", shape}}})
      .output();
}

Output placeholder_with_default(Output input, const PartialShape& shape, std::string_view name) {
  return detail::add_op(detail::kPlaceholderWithDefaultOp, name, {input}, {{"shape", shape}});
}

}  // namespace trainhook

namespace trainhook::detail {

template <class T>
Tensor filled_with(const Shape& shape, T value) {
  Tensor tensor = Tensor::uninitialized(dtype_of<T>, shape);
  std::ranges::fill(tensor.overwrite_data<T>(), value);
  return tensor;
}

/// `value` as a T; floating types round it. @throws InvalidArgumentError if an integer type does not have it.
template <class T>
T number_as(long double value) {
  if constexpr (std::integral<T>) {
    const bool fits = value >= std::numeric_limits<T>::lowest() && value <= (std::numeric_limits<T>::max)() &&
                      value == std::trunc(value);
    if (!fits)
      throw InvalidArgumentError("{} is not a number of {}; cast() the tensor", static_cast<double>(value),
                                 dtype_of<T>);
  }
  return static_cast<T>(value);
}

Tensor filled_tensor(DType dtype, const Shape& shape, long double value) {
  if (value == 0 && dtype != DType::String) return Tensor(dtype, shape);
  switch (dtype) {
    case DType::Float: return filled_with(shape, number_as<float>(value));
    case DType::Double: return filled_with(shape, number_as<double>(value));
    case DType::Int8: return filled_with(shape, number_as<std::int8_t>(value));
    case DType::Int16: return filled_with(shape, number_as<std::int16_t>(value));
    case DType::Int32: return filled_with(shape, number_as<std::int32_t>(value));
    case DType::Int64: return filled_with(shape, number_as<std::int64_t>(value));
    case DType::UInt8: return filled_with(shape, number_as<std::uint8_t>(value));
    case DType::UInt16: return filled_with(shape, number_as<std::uint16_t>(value));
    case DType::UInt32: return filled_with(shape, number_as<std::uint32_t>(value));
    case DType::UInt64: return filled_with(shape, number_as<std::uint64_t>(value));
    case DType::Bool: return filled_with(shape, value != 0);
    case DType::Complex64: return filled_with(shape, std::complex<float>(number_as<float>(value)));
    case DType::Complex128: return filled_with(shape, std::complex<double>(number_as<double>(value)));
    default: throw UnimplementedError("a tensor of {} cannot be filled with a number", dtype);
  }
}

Output constant_ints(Graph& graph, const std::vector<std::int64_t>& values, std::string_view name) {
  Tensor tensor = Tensor::uninitialized(DType::Int32, Shape{static_cast<std::int64_t>(values.size())});
  std::ranges::transform(values, tensor.overwrite_data<std::int32_t>().begin(), [&](std::int64_t value) {
    if (value != static_cast<std::int32_t>(value)) throw InvalidArgumentError("{}: {} does not fit int32", name, value);
    return static_cast<std::int32_t>(value);
  });
  return constant(graph, tensor, name);
}

Output constant_int(Graph& graph, std::int64_t value, std::string_view name) {
  if (value != static_cast<std::int32_t>(value)) throw InvalidArgumentError("{}: {} does not fit int32", name, value);
  return constant(graph, Tensor(static_cast<std::int32_t>(value)), name);
}

}  // namespace trainhook::detail

namespace trainhook {

Output zeros(Graph& graph, const Shape& shape, DType dtype, std::string_view name) {
  return constant(graph, Tensor(dtype, shape), name);
}

Output ones(Graph& graph, const Shape& shape, DType dtype, std::string_view name) {
  return constant(graph, detail::filled_tensor(dtype, shape, 1), name);
}

Output zeros_like(Output x, std::string_view name) { return detail::add_op(detail::kZerosLikeOp, name, {x}); }

Output ones_like(Output x, std::string_view name) { return detail::add_op(detail::kOnesLikeOp, name, {x}); }

}  // namespace trainhook
