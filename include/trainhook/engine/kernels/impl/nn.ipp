// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of neural networks: bias, activations, softmax and cross entropies, with their gradients.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/elementwise.hpp>
#include <trainhook/engine/kernels/pieces.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// A tensor seen as rows along its last dimension.
struct RowsAndColumns {
  std::int64_t rows;
  std::int64_t columns;
};
[[nodiscard]] inline RowsAndColumns rows_and_columns(const Shape& shape) {
  if (shape.rank() == 0) throw InvalidArgumentError("a scalar has no last dimension");
  return {product_of(shape, 0, shape.rank() - 1), shape[shape.rank() - 1]};
}

template <class T>
void bias_add(KernelContext& context) {
  const auto [rows, columns] = rows_and_columns(context.shape(0));
  if (context.shape(1) != Shape{columns})
    throw InvalidArgumentError("the bias must be a vector of {} elements", columns);
  const T* const x = context.data<T>(0).data();
  const T* const bias = context.data<T>(1).data();
  T* const result = context.output<T>(0, context.shape(0)).data();
  for_each_block(context, {rows, columns}, [=, columns = columns](const Block& block) {
    for (std::int64_t at = block.begin * columns; at < block.end * columns; at += columns)
      ArrayMap<T>(result + at, columns) = ConstArrayMap<T>(x + at, columns) + ConstArrayMap<T>(bias, columns);
  });
}

/// The sums of a table's columns. Narrow ones are summed vector by vector; in wide ones that would jump from page to
/// page.
template <class Table, class Sum>
void sum_rows(const Table& table, Sum& sum) {
  constexpr Eigen::Index kNarrow = 64;
  constexpr Eigen::Index kRows = 4;  // that `sum` is read and written for
  if (table.cols() <= kNarrow) {
    sum = table.colwise().sum().transpose();
    return;
  }
  sum = table.row(0).transpose();
  Eigen::Index i = 1;
  for (; i + kRows <= table.rows(); i += kRows)
    sum += ((table.row(i) + table.row(i + 1)) + (table.row(i + 2) + table.row(i + 3))).transpose();
  for (; i < table.rows(); ++i) sum += table.row(i).transpose();
}

template <class T>
void bias_add_grad(KernelContext& context) {
  const auto [rows, columns] = rows_and_columns(context.shape(0));
  const ConstTableMap<T> gradient(context.data<T>(0).data(), rows, columns);
  const Blocks blocks(rows, columns, 16);  // not many sums for the rows
  ArrayMap<T> result = output_array<T>(context, 0, Shape{columns});
  if (rows == 0) result.setZero();
  T* const memory = context.scratch<T>(blocks.parts(static_cast<std::size_t>(columns)));
  sum_over_blocks(context, blocks, result, memory, [&](const Block& block, ArrayMap<T> sum) {
    sum_rows(gradient.middleRows(block.begin, block.size()), sum);
  });
}

/// A tensor whose channels are its second dimension, NCHW: images of planes.
struct Planes {
  std::int64_t images;
  std::int64_t channels;
  std::int64_t size;  // of a plane
};
[[nodiscard]] inline Planes planes_of(const Shape& shape) {
  if (shape.rank() < 2) throw InvalidArgumentError("{} has no second dimension, the channels", shape);
  return {shape[0], shape[1], product_of(shape, 2, shape.rank())};
}

template <class T>
void bias_add_to_planes(KernelContext& context) {
  const Planes planes = planes_of(context.shape(0));
  if (context.shape(1) != Shape{planes.channels})
    throw InvalidArgumentError("the bias must be a vector of {} elements", planes.channels);
  const T* const x = context.data<T>(0).data();
  const T* const bias = context.data<T>(1).data();
  T* const result = context.output<T>(0, context.shape(0)).data();
  for_each_block(context, {planes.images * planes.channels, planes.size}, [&](const Block& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i)
      ArrayMap<T>(result + i * planes.size, planes.size) =
          ConstArrayMap<T>(x + i * planes.size, planes.size) + bias[i % planes.channels];
  });
}

template <class T>
void bias_add_grad_of_planes(KernelContext& context) {
  const Planes planes = planes_of(context.shape(0));
  const T* const gradient = context.data<T>(0).data();
  ArrayMap<T> result = output_array<T>(context, 0, Shape{planes.channels});
  for_each_block(context, {planes.channels, planes.images * planes.size}, [&](const Block& block) {
    for (std::int64_t channel = block.begin; channel < block.end; ++channel) {
      T sum = 0;
      for (std::int64_t image = 0; image < planes.images; ++image)
        sum += ConstArrayMap<T>(gradient + (image * planes.channels + channel) * planes.size, planes.size).sum();
      result[channel] = sum;
    }
  });
}

inline bool is_nchw(const Node& node) { return node.attr<std::string>("data_format") == "NCHW"; }
inline Kernel make_bias_add(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T",
                    [&]<class T>() { return Kernel(is_nchw(node) ? bias_add_to_planes<T> : bias_add<T>); });
}
inline Kernel make_bias_add_grad(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T",
                    [&]<class T>() { return Kernel(is_nchw(node) ? bias_add_grad_of_planes<T> : bias_add_grad<T>); });
}

// Activations. NaN stays NaN: Eigen's max and min, like those of std, keep their first argument then.
struct Relu {
  static auto of(const auto& x) { return (x.max)(0); }
};
struct Relu6 {
  static auto of(const auto& x) { return ((x.max)(0).min)(6); }
};
struct Elu {
  template <class T>
  static auto of_piece(const ConstArrayMap<T>& x, PieceRoom<T>& room) {
    return (x.max)(T{0}) + expm1_below_zero(x, room);
  }
};
struct Softplus {
  static auto of(const auto& x) { return (x.max)(0) + (-(x.abs)()).exp().log1p(); }
};
struct Sigmoid {
  static auto of(const auto& x) { return x.logistic(); }
};
struct Tanh {
  static auto of(const auto& x) { return x.tanh(); }
};

template <class Op>
Kernel make_activation(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return unary_kernel<Op, T>(); });
}

// Gradients of activations. The other input is the features or the result, whichever TensorFlow's op takes. Those of
// Relu and Relu6 are products, as in TensorFlow, so that a NaN or infinite gradient shows even if the slope is 0.
struct ReluGrad {
  struct Slope {
    template <class T>
    T operator()(T feature) const {
      return feature > 0 ? T{1} : T{0};
    }
  };
  static auto of(const auto& gradient, const auto& features) { return gradient * features.unaryExpr(Slope{}); }
};
struct Relu6Grad {
  struct Slope {
    template <class T>
    T operator()(T feature) const {
      return feature > 0 && feature < 6 ? T{1} : T{0};
    }
  };
  static auto of(const auto& gradient, const auto& features) { return gradient * features.unaryExpr(Slope{}); }
};
struct EluGrad {
  template <class V>
  static V each(const V& gradient, const V& result) {
    return result < 0 ? gradient * (result + 1) : gradient;
  }
};
struct SoftplusGrad {
  static auto of(const auto& gradient, const auto& features) { return gradient / ((-features).exp() + 1); }
};
struct SigmoidGrad {
  static auto of(const auto& result, const auto& gradient) { return gradient * result * (1 - result); }
};
struct TanhGrad {
  static auto of(const auto& result, const auto& gradient) { return gradient * (1 - result.square()); }
};

template <class Op>
Kernel make_activation_grad(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return same_shape_kernel<Op, T>(); });
}

inline Kernel make_leaky_relu(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", [&]<class T>() {
    return Kernel([alpha = static_cast<T>(node.attr<float>("alpha"))](KernelContext& context) {
      compute_elements<T, T>(context, [=](const auto& x) { return (x.max)(0) + (x.min)(0) * alpha; });
    });
  });
}

inline Kernel make_leaky_relu_grad(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", [&]<class T>() {
    return Kernel([alpha = static_cast<T>(node.attr<float>("alpha"))](KernelContext& context) {
      if (context.data<T>(0).size() != context.data<T>(1).size())
        throw InvalidArgumentError("both inputs must have one shape");
      compute_each<T, 2>(context, [=]<class V>(const V& gradient, const V& features) -> V {
        return features > 0 ? gradient : gradient * alpha;
      });
    });
  });
}

/// Some rows of logits: with the largest element of each subtracted, so that no exponential overflows; and the
/// exponentials of that. `shifted` and `exponentials` may be one array of all rows.
template <class T>
class ShiftedLogits {
 public:
  ShiftedLogits(const KernelContext& context, const Block& rows, std::int64_t columns, T* shifted_rows,
                T* exponentials_of_rows)
      : shifted(shifted_rows + rows.begin * columns, rows.size(), columns),
        exponentials(exponentials_of_rows + rows.begin * columns, rows.size(), columns) {
    const ConstTableMap<T> logits(context.data<T>(0).data() + rows.begin * columns, rows.size(), columns);
    for (std::int64_t i = 0; i < logits.rows(); ++i) shifted.row(i) = logits.row(i) - logits.row(i).maxCoeff();
    exponentials = shifted.exp();
  }

  TableMap<T> shifted;
  TableMap<T> exponentials;
};

/// An element of a softmax costs more than an addition.
inline Blocks softmax_blocks(std::int64_t rows, std::int64_t columns) { return {rows, 4 * columns}; }

template <class T>
void softmax(KernelContext& context) {
  const auto [rows, columns] = rows_and_columns(context.shape(0));
  const std::span<T> result = context.output<T>(0, context.shape(0));
  if (result.empty()) return;
  for_each_block(context, softmax_blocks(rows, columns), [&, columns = columns](const Block& block) {
    ShiftedLogits<T> logits(context, block, columns, result.data(), result.data());
    for (std::int64_t i = 0; i < block.size(); ++i)
      logits.exponentials.row(i) *= T{1} / logits.exponentials.row(i).sum();
  });
}

template <class T>
void log_softmax(KernelContext& context) {
  const auto [rows, columns] = rows_and_columns(context.shape(0));
  const std::span<T> result = context.output<T>(0, context.shape(0));
  if (result.empty()) return;
  T* const memory = context.scratch<T>(result.size());
  for_each_block(context, softmax_blocks(rows, columns), [&, columns = columns](const Block& block) {
    ShiftedLogits<T> logits(context, block, columns, result.data(), memory);
    for (std::int64_t i = 0; i < block.size(); ++i) logits.shifted.row(i) -= std::log(logits.exponentials.row(i).sum());
  });
}

template <class T, class Label>
void sparse_cross_entropy(KernelContext& context) {
  const Shape& shape = context.shape(0);
  if (shape.rank() != 2 || context.shape(1) != Shape{shape[0]})
    throw InvalidArgumentError("logits must be [batch, classes] and labels [batch]");
  const std::span<const Label> labels = context.data<Label>(1);
  const std::span<T> loss = context.output<T>(0, Shape{shape[0]});
  const std::span<T> gradient = context.output<T>(1, shape);
  for (const Label label : labels) {
    if (label < 0 || label >= shape[1])
      throw InvalidArgumentError("Received a label value of {} which is outside the valid range of [0, {})", label,
                                 shape[1]);
  }
  if (gradient.empty()) return;
  T* const memory = context.scratch<T>(gradient.size());
  for_each_block(context, softmax_blocks(shape[0], shape[1]), [&](const Block& block) {
    ShiftedLogits<T> logits(context, block, shape[1], memory, gradient.data());
    for (std::int64_t i = 0; i < block.size(); ++i) {
      const auto row = static_cast<std::size_t>(block.begin + i);
      const T sum = logits.exponentials.row(i).sum();
      logits.exponentials.row(i) *= T{1} / sum;
      logits.exponentials(i, labels[row]) -= T{1};
      loss[row] = std::log(sum) - logits.shifted(i, labels[row]);
    }
  });
}

inline Kernel make_sparse_cross_entropy(const Node& node) {
  const DType labels = node.attr<DType>("Tlabels");
  if (labels != DType::Int32 && labels != DType::Int64)
    throw UnimplementedError("{} '{}': labels must be int32 or int64", node.type(), node.name());
  return kernel_for(FloatingTypes{}, node, "T", [=]<class T>() {
    return labels == DType::Int32 ? Kernel(sparse_cross_entropy<T, std::int32_t>)
                                  : Kernel(sparse_cross_entropy<T, std::int64_t>);
  });
}

template <class T>
void cross_entropy(KernelContext& context) {
  const Shape& shape = context.shape(0);
  if (shape.rank() != 2 || context.shape(1) != shape)
    throw InvalidArgumentError("logits and labels must both be [batch, classes]");
  const ConstTableMap<T> labels(context.data<T>(1).data(), shape[0], shape[1]);
  ArrayMap<T> loss = output_array<T>(context, 0, Shape{shape[0]});
  const std::span<T> gradient = context.output<T>(1, shape);
  if (shape[1] == 0) loss.setZero();
  if (gradient.empty()) return;
  T* const memory = context.scratch<T>(gradient.size());
  for_each_block(context, softmax_blocks(shape[0], shape[1]), [&](const Block& block) {
    ShiftedLogits<T> logits(context, block, shape[1], memory, gradient.data());
    for (std::int64_t i = 0; i < block.size(); ++i) {
      const auto of_row = labels.row(block.begin + i);
      const T sum = logits.exponentials.row(i).sum();
      loss[block.begin + i] = (of_row * (std::log(sum) - logits.shifted.row(i))).sum();
      logits.exponentials.row(i) = logits.exponentials.row(i) * (T{1} / sum) - of_row;
    }
  });
}

inline Kernel make_softmax(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(softmax<T>); });
}
inline Kernel make_log_softmax(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(log_softmax<T>); });
}
inline Kernel make_cross_entropy(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(cross_entropy<T>); });
}

inline constexpr std::array kNn{
    KernelDef{.type = "BiasAdd", .make = make_bias_add},
    KernelDef{.type = "BiasAddGrad", .make = make_bias_add_grad},
    KernelDef{.type = "Relu", .make = make_activation<Relu>},
    KernelDef{.type = "Relu6", .make = make_activation<Relu6>},
    KernelDef{.type = "Sigmoid", .make = make_activation<Sigmoid>},
    KernelDef{.type = "Tanh", .make = make_activation<Tanh>},
    KernelDef{.type = "Elu", .make = make_activation<Elu>},
    KernelDef{.type = "Softplus", .make = make_activation<Softplus>},
    KernelDef{.type = "LeakyRelu", .make = make_leaky_relu},
    KernelDef{.type = "ReluGrad", .make = make_activation_grad<ReluGrad>},
    KernelDef{.type = "Relu6Grad", .make = make_activation_grad<Relu6Grad>},
    KernelDef{.type = "SigmoidGrad", .make = make_activation_grad<SigmoidGrad>},
    KernelDef{.type = "TanhGrad", .make = make_activation_grad<TanhGrad>},
    KernelDef{.type = "EluGrad", .make = make_activation_grad<EluGrad>},
    KernelDef{.type = "SoftplusGrad", .make = make_activation_grad<SoftplusGrad>},
    KernelDef{.type = "LeakyReluGrad", .make = make_leaky_relu_grad},
    KernelDef{.type = "Softmax", .make = make_softmax},
    KernelDef{.type = "LogSoftmax", .make = make_log_softmax},
    KernelDef{.type = "SoftmaxCrossEntropyWithLogits", .make = make_cross_entropy},
    KernelDef{.type = "SparseSoftmaxCrossEntropyWithLogits", .make = make_sparse_cross_entropy},
};

}  // namespace detail

KernelGroup nn() noexcept { return detail::kNn; }

}  // namespace trainhook::kernels
