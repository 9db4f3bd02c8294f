// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of tensor_summary.hpp.
#pragma once

#include <trainhook/events/tensor_summary.hpp>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>

namespace trainhook {

TRAINHOOK_DECL std::string scalar_tensor_summary(std::string_view tag, float value) {
  return detail::tensor_summary(tag, "scalars", DType::Float, {}, [&](WireWriter& tensor) {
    std::string content;
    detail::append_fixed32(content, std::bit_cast<std::uint32_t>(value));
    tensor.add_bytes(detail::TensorProtoField::kTensorContent, content);
  });
}

TRAINHOOK_DECL std::string image_tensor_summary(std::string_view tag, std::span<const EncodedImage> images) {
  if (images.empty()) throw InvalidArgumentError("image summary {} has no image: its size would be unknown", tag);
  for (const EncodedImage& image : images) {
    if (image.height != images[0].height || image.width != images[0].width) {
      throw InvalidArgumentError(
          "image summary {}: an image of {} x {} pixels does not go with the first, of {} x {}; give it a tag of its "
          "own",
          tag, image.width, image.height, images[0].width, images[0].height);
    }
  }
  const std::int64_t dims[] = {static_cast<std::int64_t>(images.size()) + 2};
  return detail::tensor_summary(tag, "images", DType::String, dims, [&](WireWriter& tensor) {
    tensor.add_bytes(detail::TensorProtoField::kStringVal, fmt::format("{}", images[0].width));
    tensor.add_bytes(detail::TensorProtoField::kStringVal, fmt::format("{}", images[0].height));
    for (const EncodedImage& image : images) {
      tensor.add_bytes(detail::TensorProtoField::kStringVal, image.bytes.data(), image.bytes.size());
    }
  });
}

}  // namespace trainhook
