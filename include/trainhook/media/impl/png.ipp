// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/media/png.hpp>

#include <cstddef>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook::detail {

/// libpng's simplified interface catches its own longjmp before it returns: none passes through a frame with
/// destructors. This owns what it allocates between the calls.
class PngImage {
 public:
  PngImage() noexcept { image_.version = PNG_IMAGE_VERSION; }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  ~PngImage() { png_image_free(&image_); }

  [[nodiscard]] png_image* operator->() noexcept { return &image_; }
  [[nodiscard]] png_image* get() noexcept { return &image_; }
  [[nodiscard]] std::string_view message() const noexcept { return image_.message; }

 private:
  png_image image_{};
};

inline png_uint_32 png_format_of(std::int64_t channels) {
  switch (channels) {
    case 1: return PNG_FORMAT_GRAY;
    case 2: return PNG_FORMAT_GA;
    case 3: return PNG_FORMAT_RGB;
    case 4: return PNG_FORMAT_RGBA;
    default: throw InvalidArgumentError("an image has 1, 2, 3 or 4 channels, not {}", channels);
  }
}

inline std::uint32_t png_number_at(std::string_view bytes, std::size_t offset) noexcept {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes[offset + i]);
  return number;
}

/// Walks all chunks and verifies each checksum: libpng stops before the last ones once it has the pixels.
inline void check_png_chunks(std::string_view bytes, std::string_view name) {
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
  if (!bytes.starts_with(kSignature))
    throw DataLossError("{} is not a PNG image: it does not begin with the signature", name);
  for (std::size_t offset = kSignature.size();;) {
    if (bytes.size() - offset < 12)
      throw DataLossError("{} is truncated: it ends at byte {}, before the last chunk", name, bytes.size());
    const std::uint32_t size = png_number_at(bytes, offset);
    if (size > bytes.size() - offset - 12) {
      throw DataLossError("{} is truncated or damaged: the chunk at byte {} claims {} bytes", name, offset, size);
    }
    const std::string_view checked = bytes.substr(offset + 4, std::size_t{size} + 4);
    const uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(checked.data()), checked.size());
    if (sum != png_number_at(bytes, offset + 8 + size)) {
      throw DataLossError("{} is damaged: the chunk at byte {} has a wrong checksum", name, offset);
    }
    offset += 12 + std::size_t{size};
    if (checked.starts_with("IEND")) break;
  }
}

}  // namespace trainhook::detail

namespace trainhook {

std::string encode_png(std::span<const std::uint8_t> pixels, std::int64_t height, std::int64_t width,
                       std::int64_t channels) {
  constexpr std::int64_t kLargestSide = 1 << 20;  // so that no product overflows, and within libpng's own limit
  detail::PngImage image;
  image->format = detail::png_format_of(channels);
  if (height <= 0 || width <= 0 || height > kLargestSide || width > kLargestSide) {
    throw InvalidArgumentError("an image of {} x {} pixels cannot be a PNG: each side has 1 to {}", height, width,
                               kLargestSide);
  }
  if (pixels.size() != static_cast<std::uint64_t>(height * width * channels)) {
    throw InvalidArgumentError("{} bytes are not an image of {} x {} pixels with {} channels", pixels.size(), height,
                               width, channels);
  }
  image->height = static_cast<png_uint_32>(height);
  image->width = static_cast<png_uint_32>(width);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(*image.get());
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(image.get(), bytes.data(), &size, 0, pixels.data(), 0, nullptr) == 0) {
    throw InternalError("libpng cannot encode an image of {} x {} x {}: {}", height, width, channels, image.message());
  }
  bytes.resize(size);
  return bytes;
}

Tensor decode_png(std::string_view bytes, std::string_view name) {
  detail::check_png_chunks(bytes, name);
  detail::PngImage image;
  if (png_image_begin_read_from_memory(image.get(), bytes.data(), bytes.size()) == 0) {
    throw DataLossError("{} cannot be decoded as PNG: {}", name, image.message());
  }
  image->format &= ~static_cast<png_uint_32>(PNG_FORMAT_FLAG_COLORMAP | PNG_FORMAT_FLAG_LINEAR);
  const std::int64_t channels = PNG_IMAGE_SAMPLE_CHANNELS(image->format);
  const std::uint64_t pixel_count =
      std::uint64_t{image->height} * image->width;    // a pixel has at least one bit in the file
  constexpr std::uint64_t kMostExpansion = 1032 * 8;  // and deflate never packs tighter than this
  if (pixel_count / kMostExpansion > bytes.size()) {
    throw DataLossError("{} is damaged: {} bytes cannot hold {} x {} pixels", name, bytes.size(), image->height,
                        image->width);
  }
  Tensor pixels = Tensor::uninitialized(DType::UInt8, {image->height, image->width, channels});
  if (png_image_finish_read(image.get(), nullptr, pixels.overwrite_data<std::uint8_t>().data(), 0, nullptr) == 0) {
    throw DataLossError("{} cannot be decoded as PNG: {}", name, image.message());
  }
  return pixels;
}

}  // namespace trainhook
