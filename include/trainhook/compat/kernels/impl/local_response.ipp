// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of local response normalization, with its gradient.
#pragma once

#include <trainhook/compat/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// Local response normalization: each channel is divided by a power of the squares of `radius` channels around it.
struct LrnAttrs {
  std::int64_t radius = 5;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5F;
};

/// The rows of channels of images.
template <class T>
struct Rows {
  T* elements;
  std::int64_t count;
  std::int64_t channels;

  [[nodiscard]] T* operator[](std::int64_t row) const { return elements + row * channels; }
};

/// @throws InvalidArgumentError unless the images are of rank 4 and of the shape of input 0.
inline Rows<const float> rows_in(const KernelContext& context, std::size_t input) {
  const Shape& shape = context.shape(input);
  if (shape.rank() != 4 || shape != context.shape(0))
    throw InvalidArgumentError("images must be of rank 4 and of one shape, not {}", shape);
  return {context.data<float>(input).data(), product_of(shape, 0, 3), shape[3]};
}

using FloatVector = VectorOf<float, kVectorSize<float>>::type;

/// Sums of the numbers around each channel, for some rows at a time. The numbers have zeros before, between and behind
/// the rows, so that the sums of all rows are one sum of arrays that begin at different places.
class SumsAround {
 public:
  SumsAround(std::int64_t radius, std::int64_t channels)
      : radius_((std::min)(radius, channels - 1)), channels_(channels) {}

  /// The most rows at a time: what stays in the L1 cache.
  [[nodiscard]] std::int64_t rows() const { return (std::max)(1024 / pitch(), std::int64_t{1}); }
  /// The elements of memory that it needs.
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(2 * half()); }
  void start(float* memory) {
    numbers_ = memory;
    sums_ = memory + half();
    std::fill_n(memory, size(), 0.0F);
  }

  [[nodiscard]] float* numbers(std::int64_t row) const { return numbers_ + radius_ + row * pitch(); }
  [[nodiscard]] const float* operator[](std::int64_t row) const { return sums_ + row * pitch(); }

  /// Computes the sums of the first `rows` rows, times `factor` plus `offset`, and returns all of them; between those
  /// of the rows are others, which mean nothing.
  [[nodiscard]] ArrayMap<float> add_up(std::int64_t rows, float factor, float offset) const {
    const std::int64_t count = rows * pitch() - radius_;
    for (std::int64_t at = 0; at < count; at += kAtOnce) {
      std::array<FloatVector, kVectors> sums{};
      for (std::int64_t from = at; from <= at + 2 * radius_; ++from)
        unrolled<kVectors>([&](auto i) { sums[i] += load<FloatVector>(numbers_ + from + i * kVectorSize<float>); });
      unrolled<kVectors>(
          [&](auto i) { store(FloatVector(sums[i] * factor + offset), sums_ + at + i * kVectorSize<float>); });
    }
    return {sums_, count};
  }

 private:
  static constexpr std::size_t kVectors = 4;
  static constexpr std::int64_t kAtOnce = kVectors * kVectorSize<float>;

  [[nodiscard]] std::int64_t pitch() const { return channels_ + radius_; }
  [[nodiscard]] std::int64_t half() const { return (rows() * pitch() + radius_ + 2 * kAtOnce - 1) / kAtOnce * kAtOnce; }

  std::int64_t radius_;
  std::int64_t channels_;
  float* numbers_ = nullptr;
  float* sums_ = nullptr;
};

/// Calls `code(first, rows, sums...)` for some rows at a time, with `Count` objects for sums.
template <std::size_t Count, class Code>
void for_some_rows(const KernelContext& context, const Rows<const float>& x, const LrnAttrs& attrs, const Code& code) {
  if (x.count * x.channels == 0) return;
  const SumsAround around(attrs.radius, x.channels);
  const Blocks blocks(x.count, x.channels * 32, around.rows());
  const WorkerMemory<float> memory(context, blocks, Count * around.size());
  for_each_block(context, blocks, [&](const Block& block) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::array sums{(static_cast<void>(I), around)...};
      (sums[I].start(memory.of(block) + I * around.size()), ...);
      for (std::int64_t first = block.begin; first < block.end; first += around.rows())
        code(first, (std::min)(around.rows(), block.end - first), sums[I]...);
    }(std::make_index_sequence<Count>{});
  });
}

/// Calls `code(power)`, where `power(norm)` is the beta-th power of one of `norms`, or of a vector of them. Roots are
/// faster than logarithms; beta is 0.5 by default, and 0.75 in the paper.
template <class Code>
void with_power(ArrayMap<float> norms, float beta, const Code& code) {
  if (beta == 0.5F) return code([](auto norm) { return square_root(norm); });
  if (beta == 0.75F) {
    return code([](auto norm) {
      const auto root = square_root(norm);
      return root * square_root(root);
    });
  }
  norms = (norms.log() * beta).exp();
  code([](auto norm) { return norm; });
}

inline constexpr auto kSquare = [](auto x) { return x * x; };

inline void local_response(KernelContext& context, const LrnAttrs& attrs) {
  const Rows<const float> x = rows_in(context, 0);
  const Rows<float> y{context.output<float>(0, context.shape(0)).data(), x.count, x.channels};
  for_some_rows<1>(context, x, attrs, [&](std::int64_t first, std::int64_t rows, const SumsAround& norms) {
    for (std::int64_t row = 0; row < rows; ++row) compute(norms.numbers(row), x.channels, kSquare, x[first + row]);
    with_power(norms.add_up(rows, attrs.alpha, attrs.bias), attrs.beta, [&](auto power) {
      const auto response = [power](auto in, auto norm) { return in / power(norm); };
      for (std::int64_t row = 0; row < rows; ++row)
        compute(y[first + row], x.channels, response, x[first + row], norms[row]);
    });
  });
}

/// Inputs: the gradient, what came in, what came out.
inline void local_response_gradient(KernelContext& context, const LrnAttrs& attrs) {
  const Rows<const float> gradient = rows_in(context, 0);
  const Rows<const float> x = rows_in(context, 1);
  const Rows<const float> y = rows_in(context, 2);
  const Rows<float> result{context.output<float>(0, context.shape(0)).data(), x.count, x.channels};
  const auto part = [&](std::int64_t first, std::int64_t rows, const SumsAround& norms, const SumsAround& shares) {
    for (std::int64_t row = 0; row < rows; ++row) compute(norms.numbers(row), x.channels, kSquare, x[first + row]);
    const ArrayMap<float> all = norms.add_up(rows, attrs.alpha, attrs.bias);
    const auto share = [](auto g, auto out, auto norm) { return g * out / norm; };
    for (std::int64_t row = 0; row < rows; ++row)
      compute(shares.numbers(row), x.channels, share, gradient[first + row], y[first + row], norms[row]);
    static_cast<void>(shares.add_up(rows, -2 * attrs.alpha * attrs.beta, 0));
    with_power(all, attrs.beta, [&](auto power) {
      const auto sum = [power](auto g, auto norm, auto in, auto around) { return g / power(norm) + in * around; };
      for (std::int64_t row = 0; row < rows; ++row)
        compute(result[first + row], x.channels, sum, gradient[first + row], norms[row], x[first + row], shares[row]);
    });
  };
  for_some_rows<2>(context, x, attrs, part);
}

template <void (*Code)(KernelContext&, const LrnAttrs&)>
Kernel make_local_response(const Node& node) {
  const LrnAttrs attrs{.radius = node.attr<std::int64_t>("depth_radius"),
                       .bias = node.attr<float>("bias"),
                       .alpha = node.attr<float>("alpha"),
                       .beta = node.attr<float>("beta")};
  if (attrs.radius < 0 || attrs.radius > INT32_MAX)
    throw InvalidArgumentError("{} '{}': depth_radius is {}, not in [0, {}]", node.type(), node.name(), attrs.radius,
                               INT32_MAX);
  return kernel_for(DTypes<float>{}, node, "T",
                    [=]<class T>() { return Kernel([=](KernelContext& context) { Code(context, attrs); }); });
}

inline constexpr std::array kLocalResponse{
    KernelDef{.type = "LRN", .make = make_local_response<local_response>},
    KernelDef{.type = "LRNGrad", .make = make_local_response<local_response_gradient>},
};

}  // namespace detail

KernelGroup local_response() noexcept { return detail::kLocalResponse; }

}  // namespace trainhook::kernels
