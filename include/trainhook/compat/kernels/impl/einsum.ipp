// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of sums of products by an equation of labels.
#pragma once

#include <trainhook/compat/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/strided_copy.hpp>
#include <trainhook/compat/ops/einsum.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The labels of an equation by what becomes of them in a product of matrices.
struct EinsumLabels {
  std::string batch{};  ///< in both inputs and in the result
  std::string rows{};   ///< in the first input and in the result
  std::string columns{};
  std::string summed{};  ///< not in the result

  explicit EinsumLabels(const EinsumEquation& equation) {
    std::string all;
    for (const std::string& labels : equation.inputs) {
      for (const char label : labels) {
        if (all.find(label) == std::string::npos) all += label;
      }
    }
    const auto has = [](const std::string& labels, char label) { return labels.find(label) != std::string::npos; };
    for (const char label : all) {
      const bool in_left = has(equation.inputs[0], label);
      const bool in_right = equation.inputs.size() == 2 && has(equation.inputs[1], label);
      (!has(equation.output, label) ? summed : in_left && in_right ? batch : in_left ? rows : columns) += label;
    }
  }
};

/// The extent of each label. @throws InvalidArgumentError if two dimensions of one label differ.
inline std::map<char, std::int64_t> extents_of(const KernelContext& context, const EinsumEquation& equation) {
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    const Shape& shape = context.shape(i);
    if (shape.rank() != equation.inputs[i].size())
      throw InvalidArgumentError("input {} is of rank {}, not {}", i, shape.rank(), equation.inputs[i].size());
    for (std::size_t k = 0; k < shape.rank(); ++k) {
      const auto [entry, is_new] = extents.emplace(equation.inputs[i][k], shape[k]);
      if (entry->second != shape[k])
        throw InvalidArgumentError("'{}' is both {} and {}", entry->first, entry->second, shape[k]);
    }
  }
  return extents;
}

/// How far it is in a tensor from each index of a label to the next; 0 if the tensor does not have it.
inline Ints strides_by_label(const std::string& order, const std::string& labels, const Ints& strides) {
  Ints result;
  for (const char label : order) {
    std::int64_t stride = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) stride += labels[i] == label ? strides[i] : 0;
    result.push_back(stride);
  }
  return result;
}

inline Ints dims_by_label(const std::string& order, const std::map<char, std::int64_t>& extents) {
  Ints dims;
  for (const char label : order) dims.push_back(extents.at(label));
  return dims;
}

/// Both inputs become batches of matrices, and so does the result. What is one already is not copied.
template <class T>
void einsum(KernelContext& context, const EinsumEquation& equation, const EinsumLabels& labels) {
  const auto extents = extents_of(context, equation);
  const auto count = [&](const std::string& order) {
    return shape_of_ints(dims_by_label(order, extents)).num_elements();
  };
  Tensor& out = context.output(0, dtype_of<T>, shape_of_ints(dims_by_label(equation.output, extents)));
  if (out.num_elements() == 0) return;
  const auto packed = [&](std::size_t input, const std::string& order) {
    if (input < equation.inputs.size() && equation.inputs[input] == order) return context.input(input);
    Tensor result = Tensor::uninitialized(dtype_of<T>, Shape{count(order)});
    const Ints dims = dims_by_label(order, extents);
    const StridedView to{0, full_strides(shape_of_ints(dims))};
    if (input == equation.inputs.size()) {
      std::ranges::fill(result.overwrite_data<T>(), T{1});
    } else {
      const Ints strides = strides_by_label(order, equation.inputs[input], full_strides(context.shape(input)));
      copy_strided(context, result, to, context.input(input), {0, strides}, dims);
    }
    return result;
  };
  const Tensor left = packed(0, labels.batch + labels.rows + labels.summed);
  const std::string turned = labels.batch + labels.columns + labels.summed;
  const bool is_turned = equation.inputs.back() == turned;
  const Tensor right = packed(1, is_turned ? turned : labels.batch + labels.summed + labels.columns);
  const std::string order = labels.batch + labels.rows + labels.columns;
  const bool is_result = order == equation.output;
  Tensor product = is_result ? Tensor() : Tensor::uninitialized(dtype_of<T>, Shape{count(order)});
  T* const to = (is_result ? out : product).overwrite_data<T>().data();
  const std::int64_t rows = count(labels.rows);
  const std::int64_t columns = count(labels.columns);
  const std::int64_t summed = count(labels.summed);
  for_each_block(context, {count(labels.batch), cost_of_products(rows * columns, summed)}, [&](const Block& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i) {
      MatrixMap<T> result(to + i * rows * columns, rows, columns);
      const ConstMatrixMap<T> x(left.data<T>().data() + i * rows * summed, rows, summed);
      const T* const y = right.data<T>().data() + i * summed * columns;
      if (is_turned) {
        result.noalias() = x * ConstMatrixMap<T>(y, columns, summed).transpose();
      } else {
        result.noalias() = x * ConstMatrixMap<T>(y, summed, columns);
      }
    }
  });
  if (is_result) return;
  const Ints dims = dims_by_label(order, extents);
  const Ints strides = strides_by_label(order, equation.output, full_strides(out.shape()));
  copy_strided(context, out, {0, strides}, product, {0, full_strides(shape_of_ints(dims))}, dims);
}

inline Kernel make_einsum(const Node& node) {
  const EinsumEquation equation(node.attr<std::string>("equation"));
  bool fits = !equation.has_ellipsis;
  for (const char label : equation.output) fits = fits && std::ranges::count(equation.output, label) == 1;
  const EinsumLabels labels(equation);
  const std::size_t count = labels.batch.size() + labels.rows.size() + labels.columns.size() + labels.summed.size();
  if (!fits || count > kMaxRank)
    throw UnimplementedError("Einsum '{}': '{}' has ..., a label twice in the result, or more than {} labels",
                             node.name(), node.attr<std::string>("equation"), kMaxRank);
  return kernel_for(FloatingTypes{}, node, "T", [&]<class T>() {
    return Kernel([equation, labels](KernelContext& context) { einsum<T>(context, equation, labels); });
  });
}

inline constexpr std::array kEinsum{KernelDef{.type = "Einsum", .make = make_einsum}};

}  // namespace detail

KernelGroup einsum() noexcept { return detail::kEinsum; }

}  // namespace trainhook::kernels
