// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/media/fashion_mnist.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/element.hpp>

namespace trainhook::detail {

/// pixel / 255, correctly rounded, for many pixels. The reciprocal is split in two: the product with the upper part, of
/// 16 bits, is exact.
inline void scale_pixels(std::span<const std::uint8_t> pixels, float* __restrict scaled) noexcept {
  constexpr float kUpper = 0x1.0101p-8F;
  constexpr float kLower = static_cast<float>(1.0 / 255.0 - static_cast<double>(kUpper));
  constexpr std::size_t kBlock = 64;  // a loop of known length is made into vector instructions also without -O3
  const auto scale = [](std::uint8_t pixel) {
    return static_cast<float>(pixel) * kUpper + static_cast<float>(pixel) * kLower;
  };
  std::size_t i = 0;
  for (; i + kBlock <= pixels.size(); i += kBlock) {
    for (std::size_t k = 0; k < kBlock; ++k) scaled[i + k] = scale(pixels[i + k]);
  }
  for (; i < pixels.size(); ++i) scaled[i] = scale(pixels[i]);
}

/// Images as float32 [pixels], scaled to [0, 1], and labels as int64.
class LabeledImageRows final : public RowSource {
 public:
  LabeledImageRows(std::string name, Tensor images, Tensor labels)
      : name_(std::move(name)),
        images_(std::move(images)),
        labels_(std::move(labels)),
        size_(labels_.num_elements()),
        pixels_(static_cast<std::size_t>(Shape(images_.shape().dims().subspan(1)).num_elements())),
        spec_{{DType::Float, Shape{static_cast<std::int64_t>(pixels_)}}, {DType::Int64, Shape{}}} {}

  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  [[nodiscard]] const ElementSpec& element_spec() const noexcept override { return spec_; }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{}[{}]{}", name_, size_, spec_to_string(spec_));
  }

  void read(std::int64_t index, Element& row) const override {
    row.resize(2);
    row[0].reset_to(DType::Float, Shape{static_cast<std::int64_t>(pixels_)});
    fill({&index, 1}, row[0].overwrite_data<float>().data());
    row[1] = Tensor(static_cast<std::int64_t>(labels_.data<std::uint8_t>()[static_cast<std::size_t>(index)]));
  }
  void gather(std::span<const std::int64_t> indices, Element& batch) const override {
    const auto count = static_cast<std::int64_t>(indices.size());
    const std::int64_t width = static_cast<std::int64_t>(pixels_);
    batch.resize(2);
    reset_to_rows(batch[0], DType::Float, count, {&width, 1});
    reset_to_rows(batch[1], DType::Int64, count, {});
    fill(indices, batch[0].overwrite_data<float>().data());
    const std::span<const std::uint8_t> labels = labels_.data<std::uint8_t>();
    std::ranges::transform(indices, batch[1].overwrite_data<std::int64_t>().begin(), [labels](std::int64_t index) {
      return std::int64_t{labels[static_cast<std::size_t>(index)]};
    });
  }

 private:
  void fill(std::span<const std::int64_t> indices, float* to) const {
    const std::span<const std::uint8_t> images = images_.data<std::uint8_t>();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (i + 1 < indices.size()) fetch_ahead(images.data() + static_cast<std::size_t>(indices[i + 1]) * pixels_);
      scale_pixels(images.subspan(static_cast<std::size_t>(indices[i]) * pixels_, pixels_), to);
      to += pixels_;
    }
  }

  /// Shuffled images are far from each other: asking for the next one early hides the way to memory.
  void fetch_ahead(const std::uint8_t* image) const noexcept {
    for (std::size_t offset = 0; offset < pixels_; offset += 64) __builtin_prefetch(image + offset);
  }

  std::string name_;
  Tensor images_, labels_;
  std::int64_t size_;
  std::size_t pixels_;
  ElementSpec spec_;
};

}  // namespace trainhook::detail

namespace trainhook {

Dataset fashion_mnist(const std::string& directory, Split split, FileSystem& file_system) {
  FashionMnist data = load_fashion_mnist(split, directory, file_system);
  return Dataset::from_rows(
      std::make_shared<detail::LabeledImageRows>(split == Split::Train ? "fashion_mnist(train)" : "fashion_mnist(test)",
                                                 std::move(data.images), std::move(data.labels)));
}

}  // namespace trainhook
