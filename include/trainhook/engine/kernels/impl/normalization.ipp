// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of normalization over a batch of images, with its gradient. The channels are the last dimension or the
/// second.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

struct BatchNormAttrs {
  float epsilon = 0;
  float factor = 1;
  bool is_training = true;
  std::size_t rank = 4;
};

/// Images as a row of channels for each pixel. `kStride` is the distance of a pixel's channels: 1 if they are
/// contiguous, or Eigen::Dynamic if each channel is a plane.
template <class Array, int kStride>
class PixelTable {
 public:
  using Row = Eigen::Map<Array, Eigen::Unaligned, Eigen::InnerStride<kStride>>;

  /// @throws InvalidArgumentError unless the images have this rank.
  PixelTable(typename Row::PointerType data, const Shape& shape, std::size_t rank) : data_(data) {
    if (shape.rank() != rank) throw InvalidArgumentError("images must be of rank {}, not {}", rank, shape);
    const std::size_t axis = kStride == 1 ? rank - 1 : 1;
    plane_ = product_of(shape, axis + 1, rank);
    rows_ = product_of(shape, 0, axis) * plane_;
    cols_ = shape[axis];
  }

  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::int64_t cols() const noexcept { return cols_; }

  [[nodiscard]] Row row(std::int64_t i) const {
    if constexpr (kStride == 1) {
      return {data_ + i * cols_, cols_};
    } else {
      return {data_ + i / plane_ * plane_ * cols_ + i % plane_, cols_, Eigen::InnerStride<kStride>(plane_)};
    }
  }
  /// The row in double.
  [[nodiscard]] auto wide(std::int64_t i) const { return row(i).template cast<double>(); }

 private:
  typename Row::PointerType data_;
  std::int64_t plane_;  // the elements between two channels of a pixel
  std::int64_t rows_;
  std::int64_t cols_;
};

template <int kStride>
using ConstPixels = PixelTable<const Eigen::ArrayXf, kStride>;

template <int kStride>
ConstPixels<kStride> pixels(const KernelContext& context, std::size_t i, const BatchNormAttrs& attrs) {
  return {context.data<float>(i).data(), context.shape(i), attrs.rank};
}
/// Output 0, of the shape of input `i`.
template <int kStride>
PixelTable<Eigen::ArrayXf, kStride> pixels_like(const KernelContext& context, std::size_t i) {
  const Shape& shape = context.shape(i);
  return {context.output<float>(0, shape).data(), shape, shape.rank()};
}

/// Input `i`, a number for each channel.
inline ConstArrayMap<float> channel_input(const KernelContext& context, std::size_t i, std::int64_t channels) {
  if (context.shape(i) != Shape{channels})
    throw InvalidArgumentError("input {} has shape {}, not one number for each of {} channels", i, context.shape(i),
                               channels);
  return input_array<float>(context, i);
}

inline ArrayMap<float> channel_output(const KernelContext& context, std::size_t i, std::int64_t channels) {
  return output_array<float>(context, i, Shape{channels});
}

/// The pixels in blocks. An element costs more than an addition: it is converted to double.
Blocks blocks_of(const auto& pixels, std::int64_t least = 1) { return {pixels.rows(), 2 * pixels.cols(), least}; }

/// Computes sums over the pixels, in double precision. Uses the kernel's scratch memory.
class PixelSums {
 public:
  /// Has memory for `vectors` numbers of each channel, too.
  PixelSums(const KernelContext& context, const auto& pixels, std::int64_t vectors)
      : context_(context), channels_(pixels.cols()), blocks_(blocks_of(pixels, 16)) {
    const auto channels = static_cast<std::size_t>(channels_);
    memory_ = context.scratch<double>(static_cast<std::size_t>(vectors) * channels + blocks_.parts(channels));
    parts_ = memory_ + vectors * channels_;
  }

  /// One of the `vectors`.
  [[nodiscard]] ArrayMap<double> vector(std::int64_t i) const { return {memory_ + i * channels_, channels_}; }

  /// `row(i)` gives row i in double.
  template <class Row>
  void compute(ArrayMap<double> result, const Row& row) const {
    result.setZero();
    sum_over_blocks(context_, blocks_, result, parts_, [&](const Block& block, ArrayMap<double> sum) {
      sum.setZero();
      for (std::int64_t i = block.begin; i < block.end; ++i) sum += row(i);
    });
  }

 private:
  const KernelContext& context_;
  std::int64_t channels_;
  Blocks blocks_;
  double* memory_;
  double* parts_;
};

/// Computes mean and variance of the batch. The variance divides by the count itself.
void measure(const auto& x, const PixelSums& sums, ArrayMap<double> mean, ArrayMap<double> variance) {
  const auto count = static_cast<double>((std::max)(x.rows(), std::int64_t{1}));
  sums.compute(mean, [&](std::int64_t i) { return x.wide(i); });
  mean /= count;
  sums.compute(variance, [&](std::int64_t i) { return (x.wide(i) - mean).square(); });
  variance /= count;
}

template <int kStride>
void normalize_batch(KernelContext& context, const BatchNormAttrs& attrs) {
  const ConstPixels<kStride> x = pixels<kStride>(context, 0, attrs);
  const std::int64_t channels = x.cols();
  const auto scale = channel_input(context, 1, channels);
  const auto offset = channel_input(context, 2, channels);
  const PixelSums sums(context, x, 2);
  ArrayMap<double> mean = sums.vector(0);
  ArrayMap<double> variance = sums.vector(1);
  const bool needs_given = !attrs.is_training || attrs.factor != 1;
  if (needs_given) {
    mean = channel_input(context, 3, channels).cast<double>();
    variance = channel_input(context, 4, channels).cast<double>();
  }
  ArrayMap<float> mean_out = channel_output(context, 1, channels);
  ArrayMap<float> variance_out = channel_output(context, 2, channels);
  if (attrs.is_training) {
    measure(x, sums, mean, variance);
    const auto rows = static_cast<float>(x.rows());
    mean_out = mean.cast<float>();
    variance_out = variance.cast<float>() * (rows / (std::max)(rows - 1, 1.0F));  // the sample variance
    if (attrs.factor != 1) {
      mean_out = (1 - attrs.factor) * input_array<float>(context, 3) + attrs.factor * mean_out;
      variance_out = (1 - attrs.factor) * input_array<float>(context, 4) + attrs.factor * variance_out;
    }
  } else {
    mean_out = mean.cast<float>();
    variance_out = variance.cast<float>();
  }
  channel_output(context, 3, channels) = mean.cast<float>();
  channel_output(context, 4, channels) = variance.cast<float>();
  context.output<float>(5, Shape{})[0] = 0;
  variance = (variance + static_cast<double>(attrs.epsilon)).sqrt().inverse() * scale.cast<double>();
  const auto y = pixels_like<kStride>(context, 0);
  for_each_block(context, blocks_of(x), [&](const Block& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i)
      y.row(i) = ((x.wide(i) - mean) * variance + offset.cast<double>()).template cast<float>();
  });
}

template <int kStride>
void normalize_batch_gradient(KernelContext& context, const BatchNormAttrs& attrs) {
  const ConstPixels<kStride> gradient = pixels<kStride>(context, 0, attrs);
  const ConstPixels<kStride> x = pixels<kStride>(context, 1, attrs);
  if (context.shape(0) != context.shape(1))
    throw InvalidArgumentError("the gradient has shape {}, the images {}", context.shape(0), context.shape(1));
  const std::int64_t channels = x.cols();
  const PixelSums sums(context, x, 4);
  ArrayMap<double> sum = sums.vector(0);
  ArrayMap<double> sum_of_centered = sums.vector(1);
  ArrayMap<double> mean = sums.vector(2);
  ArrayMap<double> inverse_deviation = sums.vector(3);
  mean = channel_input(context, 3, channels).cast<double>();
  inverse_deviation =
      (channel_input(context, 4, channels).cast<double>() + static_cast<double>(attrs.epsilon)).sqrt().inverse();
  sums.compute(sum, [&](std::int64_t i) { return gradient.wide(i); });
  sums.compute(sum_of_centered, [&](std::int64_t i) { return gradient.wide(i) * (x.wide(i) - mean); });
  const auto scale = channel_input(context, 2, channels);
  channel_output(context, 1, channels) = (sum_of_centered * inverse_deviation).template cast<float>();
  channel_output(context, 2, channels) = sum.cast<float>();
  channel_output(context, 3, 0);
  channel_output(context, 4, 0);
  if (attrs.is_training) {
    const auto count = static_cast<double>((std::max)(x.rows(), std::int64_t{1}));
    sum /= count;
    sum_of_centered *= inverse_deviation.square() / count;
  } else {
    sum.setZero();
    sum_of_centered.setZero();
  }
  inverse_deviation *= scale.cast<double>();
  const auto result = pixels_like<kStride>(context, 1);
  for_each_block(context, blocks_of(x), [&](const Block& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i)
      result.row(i) =
          ((gradient.wide(i) - sum - (x.wide(i) - mean) * sum_of_centered) * inverse_deviation).template cast<float>();
  });
}

using BatchNormCode = void (*)(KernelContext&, const BatchNormAttrs&);

/// The kernel that calls one of these with the attributes.
template <BatchNormCode ChannelsLast, BatchNormCode ChannelsFirst>
Kernel make_batch_norm(const Node& node) {
  const std::string format = node.attr<std::string>("data_format");
  const BatchNormAttrs attrs{
      .epsilon = node.attr<float>("epsilon"),
      .factor = node.has_attr("exponential_avg_factor") ? node.attr<float>("exponential_avg_factor") : 1,
      .is_training = node.attr<bool>("is_training"),
      .rank = format.size()};
  const BatchNormCode code = format.ends_with('C') ? ChannelsLast : ChannelsFirst;
  return kernel_for(DTypes<float>{}, node, "T", [&]<class T>() {
    return kernel_for(DTypes<float>{}, node, "U",
                      [=]<class U>() { return Kernel([=](KernelContext& context) { code(context, attrs); }); });
  });
}

inline constexpr std::array kNormalization{
    KernelDef{.type = "FusedBatchNormV3", .make = make_batch_norm<normalize_batch<1>, normalize_batch<Eigen::Dynamic>>},
    KernelDef{.type = "FusedBatchNormGradV3",
              .make = make_batch_norm<normalize_batch_gradient<1>, normalize_batch_gradient<Eigen::Dynamic>>},
};

}  // namespace detail

KernelGroup normalization() noexcept { return detail::kNormalization; }

}  // namespace trainhook::kernels
