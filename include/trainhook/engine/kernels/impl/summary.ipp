// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of summary.hpp.
#pragma once

#include <trainhook/engine/kernels/summary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/graph_def/tensor_proto.hpp>
#include <trainhook/media/png.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

inline void give_summary(KernelContext& context, std::string summary) {
  context.output<std::string>(0, Shape{})[0] = std::move(summary);
}

template <class T>
void scalar_summary_op(KernelContext& context) {
  const std::span<const std::string> tags = context.data<std::string>(0);
  const std::span<const T> values = context.data<T>(1);
  if (tags.size() != values.size())
    throw InvalidArgumentError("there are {} tags for {} values", tags.size(), values.size());
  std::string& summary = context.output<std::string>(0, Shape{})[0];
  summary.clear();
  for (std::size_t i = 0; i < tags.size(); ++i) summary += scalar_summary(tags[i], static_cast<float>(values[i]));
}

inline Kernel make_scalar_summary(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", []<class T>() { return Kernel(scalar_summary_op<T>); });
}

inline Kernel make_histogram_summary(const Node& node) {
  const DType dtype = node.attr<DType>("T");
  const bool is_counted = dtype_size(dtype) > 0 && dtype != DType::Half && dtype != DType::BFloat16 &&
                          dtype != DType::Complex64 && dtype != DType::Complex128;
  if (!is_counted) { throw UnimplementedError("{} of {} (node '{}') has no kernel", node.type(), dtype, node.name()); }
  return +[](KernelContext& context) {
    const std::string& tag = context.input(0).data<std::string>()[0];
    give_summary(context, histogram_summary(tag, histogram_of(tag, context.input(1))));
  };
}

/// Floats become bytes image by image: [0, largest] is spread over 0 to 255, or, if some are negative, [-largest,
/// largest] around 128. Pixels with a value that is no finite number get `bad_color`.
template <class T>
void image_to_bytes(std::span<const T> values, std::span<const std::uint8_t> bad_color,
                    std::vector<std::uint8_t>& bytes) {
  const std::size_t channels = bad_color.size();
  const auto is_finite = [&](std::size_t pixel) {
    return std::ranges::all_of(values.subspan(pixel * channels, channels),
                               [](T value) { return std::isfinite(value); });
  };
  T smallest = std::numeric_limits<T>::infinity();
  T largest = -smallest;
  for (std::size_t pixel = 0; pixel < values.size() / channels; ++pixel) {
    if (!is_finite(pixel)) continue;
    const auto [low, high] = std::ranges::minmax(values.subspan(pixel * channels, channels));
    smallest = (std::min)(smallest, low);
    largest = (std::max)(largest, high);
  }
  constexpr T kZeroThreshold = T{1e-6F};
  const bool centred = smallest < 0;
  const T extent = centred ? (std::max)(std::abs(smallest), std::abs(largest)) : largest;
  const T scale = extent < kZeroThreshold ? T{0} : (centred ? T{127} : T{255}) / extent;
  const T offset = centred ? T{128} : T{0};
  for (std::size_t pixel = 0; pixel < values.size() / channels; ++pixel) {
    const bool finite = is_finite(pixel);
    for (std::size_t c = 0; c < channels; ++c) {
      bytes[pixel * channels + c] =
          finite ? static_cast<std::uint8_t>(values[pixel * channels + c] * scale + offset) : bad_color[c];
    }
  }
}

template <class T>
void image_summary_op(KernelContext& context, std::int64_t max_images, const Tensor& bad_color) {
  const std::string& tag = context.input(0).data<std::string>()[0];
  const Shape& shape = context.shape(1);
  if (shape.rank() != 4 || (shape[3] != 1 && shape[3] != 3 && shape[3] != 4)) {
    throw InvalidArgumentError("images must be [batch, height, width, channels] with 1, 3 or 4 channels");
  }
  const auto channels = static_cast<std::size_t>(shape[3]);
  const std::span<const std::uint8_t> bad = bad_color.data<std::uint8_t>();
  if (bad.size() < channels) throw InvalidArgumentError("bad_color needs {} elements and has {}", channels, bad.size());
  const std::size_t size = static_cast<std::size_t>(shape[1] * shape[2]) * channels;
  std::vector<std::uint8_t> bytes(size);
  std::string summary;
  for (std::int64_t i = 0; i < (std::min)(max_images, shape[0]); ++i) {
    const std::span<const T> values = context.data<T>(1).subspan(static_cast<std::size_t>(i) * size, size);
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      bytes.assign(values.begin(), values.end());
    } else {
      image_to_bytes(values, bad.first(channels), bytes);
    }
    const std::string png = encode_png(bytes, shape[1], shape[2], shape[3]);
    const std::string name = max_images > 1 ? fmt::format("{}/image/{}", tag, i) : tag + "/image";
    summary += image_summary(name, {.height = static_cast<std::int32_t>(shape[1]),
                                    .width = static_cast<std::int32_t>(shape[2]),
                                    .channels = static_cast<std::int32_t>(shape[3]),
                                    .bytes = png});
  }
  give_summary(context, std::move(summary));
}

inline Kernel make_image_summary(const Node& node) {
  const std::int64_t max_images = node.attr<std::int64_t>("max_images");
  const Tensor& bad_color = node.attr<Tensor>("bad_color");
  return kernel_for(DTypes<float, double, std::uint8_t>{}, node, "T", [&]<class T>() {
    return Kernel([=](KernelContext& context) { image_summary_op<T>(context, max_images, bad_color); });
  });
}

inline Kernel make_merge_summary(const Node&) {
  return +[](KernelContext& context) {
    std::string& merged = context.output<std::string>(0, Shape{})[0];
    merged.clear();
    for (std::size_t i = 0; i < context.num_inputs(); ++i) {
      for (const std::string& summary : context.data<std::string>(i)) merged += summary;
    }
  };
}

/// A tensor as it is, with the metadata by which a dashboard finds it: Summary { value=1 { tag=1, tensor=8, metadata=9
/// } }.
inline Kernel make_tensor_summary(const Node&) {
  return +[](KernelContext& context) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
      if (context.input(i).num_elements() != 1) throw InvalidArgumentError("tag and metadata must be single strings");
    }
    std::string bytes;
    WireWriter summary(bytes);
    add_wire_message(summary, 1, [&](WireWriter& value) {
      value.add_bytes(1, context.data<std::string>(0)[0]);
      add_wire_message(value, 8, [&](WireWriter& tensor) { write_tensor(tensor, context.input(1)); });
      value.add_bytes(9, context.data<std::string>(2)[0]);
    });
    give_summary(context, std::move(bytes));
  };
}

inline constexpr std::array kSummary{
    KernelDef{.type = "ScalarSummary", .make = make_scalar_summary},
    KernelDef{.type = "HistogramSummary", .make = make_histogram_summary},
    KernelDef{.type = "ImageSummary", .make = make_image_summary},
    KernelDef{.type = "TensorSummaryV2", .make = make_tensor_summary},
    KernelDef{.type = "MergeSummary", .make = make_merge_summary},
};

}  // namespace detail

TRAINHOOK_DECL KernelGroup summary() noexcept { return detail::kSummary; }

}  // namespace trainhook::kernels
