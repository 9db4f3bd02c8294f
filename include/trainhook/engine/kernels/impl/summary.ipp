// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels whose result is a serialized `Summary` for TensorBoard.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/model/graph_def/tensor_proto.hpp>
#include <trainhook/proto/message.hpp>

#ifndef TRAINHOOK_WITHOUT_MEDIA  // defined where libpng and zlib are not there
#include <trainhook/media/batch_summary.hpp>
#endif

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

inline void give_summary(KernelContext& context, std::string summary) {
  context.output<std::string>(0, Shape{})[0] = std::move(summary);
}

/// @throws UnimplementedError if the elements are not real numbers.
inline void expect_real(const Node& node) {
  const DType dtype = node.attr<DType>("T");
  if (!is_real(dtype)) throw UnimplementedError("{} of {} (node '{}') has no kernel", node.type(), dtype, node.name());
}

inline Kernel make_scalar_summary(const Node& node) {
  expect_real(node);
  return +[](KernelContext& context) {
    const std::span<const std::string> tags = context.data<std::string>(0);
    visit_real(context.input(1), [&](auto values) {
      if (tags.size() != values.size())
        throw InvalidArgumentError("there are {} tags for {} values", tags.size(), values.size());
      std::string summary;
      for (std::size_t i = 0; i < tags.size(); ++i) summary += scalar_summary(tags[i], real_as<float>(values[i]));
      give_summary(context, std::move(summary));
    });
  };
}

inline Kernel make_histogram_summary(const Node& node) {
  expect_real(node);
  return +[](KernelContext& context) {
    const std::string& tag = context.input(0).data<std::string>()[0];
    give_summary(context, histogram_summary(tag, histogram_of(tag, context.input(1))));
  };
}

#ifdef TRAINHOOK_WITHOUT_MEDIA
inline Kernel make_image_summary(const Node& node) {
  throw UnimplementedError(
      "ImageSummary (node '{}') needs libpng and zlib, and the engine was built without them. On Debian: apt-get "
      "install libpng-dev zlib1g-dev; then build trainhook again",
      node.name());
}
#else
template <class T>
void image_summary_op(KernelContext& context, std::int64_t max_images, const Tensor& bad_color) {
  const Shape& shape = context.shape(1);
  if (shape.rank() != 4 || (shape[3] != 1 && shape[3] != 3 && shape[3] != 4)) {
    throw InvalidArgumentError("images must be [batch, height, width, channels] with 1, 3 or 4 channels");
  }
  const std::span<const std::uint8_t> bad = bad_color.data<std::uint8_t>();
  if (bad.size() < static_cast<std::size_t>(shape[3]))
    throw InvalidArgumentError("bad_color needs {} elements and has {}", shape[3], bad.size());
  ImageBatch batch{.height = shape[1], .width = shape[2], .channels = shape[3], .max_outputs = max_images};
  std::ranges::copy(bad.first((std::min)(bad.size(), batch.bad_color.size())), batch.bad_color.begin());
  const std::string& tag = context.input(0).data<std::string>()[0];
  if (shape[0] == 0) return give_summary(context, {});
  if constexpr (std::is_same_v<T, Half>) {
    const Tensor floats = as_floats(context.input(1));
    give_summary(context, image_batch_summary(tag, floats.data<float>(), batch));
  } else {
    give_summary(context, image_batch_summary(tag, context.data<T>(1), batch));
  }
}

inline Kernel make_image_summary(const Node& node) {
  const std::int64_t max_images = node.attr<std::int64_t>("max_images");
  const Tensor& bad_color = node.attr<Tensor>("bad_color");
  return kernel_for(DTypes<float, double, std::uint8_t, Half>{}, node, "T", [&]<class T>() {
    return Kernel([=](KernelContext& context) { image_summary_op<T>(context, max_images, bad_color); });
  });
}
#endif

inline Kernel make_merge_summary(const Node&) {
  return +[](KernelContext& context) {
    std::string& merged = context.output<std::string>(0, Shape{})[0];
    merged.clear();
    for (std::size_t i = 0; i < context.num_inputs(); ++i) {
      for (const std::string& summary : context.data<std::string>(i)) merged += summary;
    }
  };
}

/// The same tensor, with strings as UTF-8.
inline Tensor as_text(Tensor tensor, const std::string& tag) {
  if (tensor.dtype() != DType::String || std::ranges::all_of(tensor.data<std::string>(), is_utf8)) return tensor;
  for (std::string& text : tensor.mutable_data<std::string>())
    text = utf8_text(text, fmt::format("the text of the summary '{}'", tag));
  return tensor;
}

/// A tensor with the metadata by which a dashboard finds it.
inline Kernel make_tensor_summary(const Node&) {
  return +[](KernelContext& context) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
      if (context.input(i).num_elements() != 1) throw InvalidArgumentError("tag and metadata must be single strings");
    }
    const std::string tag = utf8_text(context.data<std::string>(0)[0], "the tag of a summary");
    const Tensor content = as_text(context.input(1), tag);
    std::string value;
    append_element(value, field_number(&SummaryValueMessage::tag), tag);
    append_element(value, field_number(&SummaryValueMessage::tensor), tensor_message(content));
    append_element(value, field_number(&SummaryValueMessage::metadata), context.data<std::string>(2)[0]);
    std::string summary;
    append_element(summary, field_number(&SummaryMessage::value), value);
    give_summary(context, std::move(summary));
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

KernelGroup summary() noexcept { return detail::kSummary; }

}  // namespace trainhook::kernels
