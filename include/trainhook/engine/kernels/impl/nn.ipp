// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of nn.hpp.
#pragma once

#include <trainhook/engine/kernels/nn.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/vector_functions.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// Rows and columns of a tensor whose last dimension is one by itself.
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
  const T* value = context.data<T>(0).data();
  const T* bias = context.data<T>(1).data();
  T* result = context.output<T>(0, context.shape(0)).data();
  for (std::int64_t row = 0; row < rows; ++row, value += columns, result += columns) {
    for (std::int64_t i = 0; i < columns; ++i) result[i] = value[i] + bias[i];
  }
}

template <class T>
void bias_add_grad(KernelContext& context) {
  const auto [rows, columns] = rows_and_columns(context.shape(0));
  const T* gradient = context.data<T>(0).data();
  const std::span<T> sum = context.output<T>(0, Shape{columns});
  std::ranges::fill(sum, T{0});
  for (std::int64_t row = 0; row < rows; ++row, gradient += columns) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
}

template <template <class> class Code, class Types>
Kernel make_in_nhwc(const Node& node) {
  if (node.attr<std::string>("data_format") != "NHWC")
    throw UnimplementedError("{} '{}': data_format must be NHWC", node.type(), node.name());
  return kernel_for(Types{}, node, "T", []<class T>() { return Kernel(Code<T>::run); });
}
template <class T>
struct BiasAdd {
  static void run(KernelContext& context) { bias_add<T>(context); }
};
template <class T>
struct BiasAddGrad {
  static void run(KernelContext& context) { bias_add_grad<T>(context); }
};

// Activations: what becomes of one feature.
struct Relu {
  template <class T>
  static T of(T x) {
    return x < 0 ? T{0} : x;
  }
};  // NaN stays NaN
struct Relu6 {
  template <class T>
  static T of(T x) {
    return x < 0 ? T{0} : x > 6 ? T{6} : x;
  }
};
struct Elu {
  template <class T>
  static T of(T x) {
    return x < 0 ? std::expm1(x) : x;
  }
};
struct Softplus {
  template <class T>
  static T of(T x) {
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
};

template <class Op>
Kernel make_activation(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      const std::span<const T> x = context.data<T>(0);
      T* const __restrict y = context.output<T>(0, context.shape(0)).data();
      for (std::size_t i = 0; i < x.size(); ++i) y[i] = Op::of(x[i]);
    });
  });
}

template <class Function>
Kernel make_array_activation(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      const std::span<const T> x = context.data<T>(0);
      apply_to_array<Function>(x.data(), context.output<T>(0, context.shape(0)).data(),
                               static_cast<std::int64_t>(x.size()));
    });
  });
}

// Their gradients, element by element; `other` is the features or the result, whichever the op takes.
struct ReluGrad {
  template <class T>
  static T of(T gradient, T features) {
    return features > 0 ? gradient : T{0};
  }
};
struct Relu6Grad {
  template <class T>
  static T of(T gradient, T features) {
    return features > 0 && features < 6 ? gradient : T{0};
  }
};
struct EluGrad {
  template <class T>
  static T of(T gradient, T result) {
    return result < 0 ? gradient * (result + 1) : gradient;
  }
};
struct SoftplusGrad {
  template <class T>
  static T of(T gradient, T features) {
    return gradient / (std::exp(-features) + 1);
  }
};
struct SigmoidGrad {
  template <class T>
  static T of(T result, T gradient) {
    return gradient * result * (1 - result);
  }
};
struct TanhGrad {
  template <class T>
  static T of(T result, T gradient) {
    return gradient * (1 - result * result);
  }
};

template <class Op>
Kernel make_activation_grad(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      if (context.shape(0) != context.shape(1)) throw InvalidArgumentError("both inputs must have one shape");
      const std::span<const T> first = context.data<T>(0);
      const std::span<const T> second = context.data<T>(1);
      T* result = context.output<T>(0, context.shape(0)).data();
      for (std::size_t i = 0; i < first.size(); ++i) result[i] = Op::of(first[i], second[i]);
    });
  });
}

TRAINHOOK_DECL Kernel make_leaky_relu(const Node& node) {
  const float alpha = node.attr<float>("alpha");
  return kernel_for(FloatingTypes{}, node, "T", [=]<class T>() {
    return Kernel([alpha = static_cast<T>(alpha)](KernelContext& context) {
      const std::span<const T> x = context.data<T>(0);
      T* result = context.output<T>(0, context.shape(0)).data();
      for (std::size_t i = 0; i < x.size(); ++i) result[i] = x[i] > 0 ? x[i] : x[i] * alpha;
    });
  });
}

TRAINHOOK_DECL Kernel make_leaky_relu_grad(const Node& node) {
  const float alpha = node.attr<float>("alpha");
  return kernel_for(FloatingTypes{}, node, "T", [=]<class T>() {
    return Kernel([alpha = static_cast<T>(alpha)](KernelContext& context) {
      const std::span<const T> gradient = context.data<T>(0);
      const std::span<const T> x = context.data<T>(1);
      if (gradient.size() != x.size()) throw InvalidArgumentError("both inputs must have one shape");
      T* result = context.output<T>(0, context.shape(0)).data();
      for (std::size_t i = 0; i < x.size(); ++i) result[i] = x[i] > 0 ? gradient[i] : gradient[i] * alpha;
    });
  });
}

/// Takes each row's largest element off, so that no exponential overflows.
template <class T>
void subtract_row_maxima(const T* logits, T* result, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row, logits += columns, result += columns) {
    T largest = logits[0];
    for (std::int64_t i = 1; i < columns; ++i) largest = logits[i] > largest ? logits[i] : largest;
    for (std::int64_t i = 0; i < columns; ++i) result[i] = logits[i] - largest;
  }
}

template <class T>
void softmax(KernelContext& context) {
  const auto [rows, columns] = rows_and_columns(context.shape(0));
  const std::span<T> result = context.output<T>(0, context.shape(0));
  if (result.empty()) return;
  subtract_row_maxima(context.data<T>(0).data(), result.data(), rows, columns);
  apply_to_array<Exp>(result.data(), result.data(), rows * columns);
  T* values = result.data();
  for (std::int64_t row = 0; row < rows; ++row, values += columns) {
    const T scale = T{1} / sum_of_array(values, columns);
    for (std::int64_t i = 0; i < columns; ++i) values[i] *= scale;
  }
}

template <class T>
void log_softmax(KernelContext& context) {
  const auto [rows, columns] = rows_and_columns(context.shape(0));
  const std::span<T> result = context.output<T>(0, context.shape(0));
  if (result.empty()) return;
  subtract_row_maxima(context.data<T>(0).data(), result.data(), rows, columns);
  T* exponentials = context.scratch<T>(result.size());
  apply_to_array<Exp>(result.data(), exponentials, rows * columns);
  T* values = result.data();
  for (std::int64_t row = 0; row < rows; ++row, values += columns, exponentials += columns) {
    const T log_sum = std::log(sum_of_array(exponentials, columns));
    for (std::int64_t i = 0; i < columns; ++i) values[i] -= log_sum;
  }
}

/// Writes exp(shifted) over the gradients and gives on the logits less their largest through `scratch`.
template <class T>
T* shifted_and_exponentials(KernelContext& context, std::span<T> exponentials, std::int64_t rows,
                            std::int64_t columns) {
  T* shifted = context.scratch<T>(exponentials.size());
  subtract_row_maxima(context.data<T>(0).data(), shifted, rows, columns);
  apply_to_array<Exp>(shifted, exponentials.data(), static_cast<std::int64_t>(exponentials.size()));
  return shifted;
}

template <class T, class Label>
void sparse_cross_entropy(KernelContext& context) {
  const Shape& shape = context.shape(0);
  if (shape.rank() != 2 || context.shape(1) != Shape{shape[0]})
    throw InvalidArgumentError("logits must be [batch, classes] and labels [batch]");
  const std::int64_t rows = shape[0];
  const std::int64_t columns = shape[1];
  const std::span<const Label> labels = context.data<Label>(1);
  const std::span<T> loss = context.output<T>(0, Shape{rows});
  const std::span<T> backprop = context.output<T>(1, shape);
  for (const Label label : labels) {
    if (label < 0 || label >= columns)
      throw InvalidArgumentError("Received a label value of {} which is outside the valid range of [0, {})", label,
                                 columns);
  }
  if (backprop.empty()) return;
  const T* shifted = shifted_and_exponentials<T>(context, backprop, rows, columns);
  T* gradient = backprop.data();
  for (std::size_t row = 0; row < labels.size(); ++row, shifted += columns, gradient += columns) {
    const T sum = sum_of_array(gradient, columns);
    const T scale = T{1} / sum;
    for (std::int64_t i = 0; i < columns; ++i) gradient[i] *= scale;
    gradient[labels[row]] -= T{1};
    loss[row] = std::log(sum) - shifted[labels[row]];
  }
}

TRAINHOOK_DECL Kernel make_sparse_cross_entropy(const Node& node) {
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
  const std::int64_t rows = shape[0];
  const std::int64_t columns = shape[1];
  const T* labels = context.data<T>(1).data();
  const std::span<T> loss = context.output<T>(0, Shape{rows});
  const std::span<T> backprop = context.output<T>(1, shape);
  if (columns == 0) std::ranges::fill(loss, T{0});
  if (backprop.empty()) return;
  const T* shifted = shifted_and_exponentials<T>(context, backprop, rows, columns);
  T* gradient = backprop.data();
  for (T& row_loss : loss) {
    const T sum = sum_of_array(gradient, columns);
    const T log_sum = std::log(sum);
    const T scale = T{1} / sum;
    row_loss = 0;
    for (std::int64_t i = 0; i < columns; ++i) {
      row_loss += labels[i] * (log_sum - shifted[i]);
      gradient[i] = gradient[i] * scale - labels[i];
    }
    labels += columns, shifted += columns, gradient += columns;
  }
}

TRAINHOOK_DECL Kernel make_softmax(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(softmax<T>); });
}
TRAINHOOK_DECL Kernel make_log_softmax(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(log_softmax<T>); });
}
TRAINHOOK_DECL Kernel make_cross_entropy(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "T", []<class T>() { return Kernel(cross_entropy<T>); });
}

inline constexpr std::array kNn{
    KernelDef{.type = "BiasAdd", .make = make_in_nhwc<BiasAdd, NumberTypes>},
    KernelDef{.type = "BiasAddGrad", .make = make_in_nhwc<BiasAddGrad, NumberTypes>},
    KernelDef{.type = "Relu", .make = make_activation<Relu>},
    KernelDef{.type = "Relu6", .make = make_activation<Relu6>},
    KernelDef{.type = "Sigmoid", .make = make_array_activation<Sigmoid>},
    KernelDef{.type = "Tanh", .make = make_array_activation<Tanh>},
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

TRAINHOOK_DECL KernelGroup nn() noexcept { return detail::kNn; }

}  // namespace trainhook::kernels
