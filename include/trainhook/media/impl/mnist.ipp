// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/media/mnist.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/media/gzip.hpp>

namespace trainhook::detail {

/// The bytes of a file in order, decompressed if the first two say so.
class IdxSource {
 public:
  explicit IdxSource(const ReadableFile& file) : file_(file), size_(file.size()) {
    std::array<std::byte, 2> magic{};
    if (size_ >= magic.size()) file_.read_at(0, magic);
    if (magic == std::array{std::byte{0x1f}, std::byte{0x8b}}) gzip_.emplace(file_);
  }

  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }

  /// The most bytes that the file can hold, whatever it claims.
  [[nodiscard]] std::uint64_t most_bytes() const noexcept { return gzip_ ? size_ * kMostGzipExpansion : size_; }

  void read(std::span<std::byte> into) {
    std::size_t count = 0;
    if (gzip_) {
      count = gzip_->read(into);
    } else {
      count = static_cast<std::size_t>((std::min<std::uint64_t>)(into.size(), size_ - offset_));
      file_.read_at(offset_, into.first(count));
    }
    offset_ += count;
    if (count < into.size()) throw DataLossError("{} is truncated: it ends after {} bytes of data", path(), offset_);
  }

  void expect_end() {
    if (gzip_ ? !gzip_->at_end() : offset_ != size_) {
      throw DataLossError("{} is damaged: data follows the {} bytes that its header announces", path(), offset_);
    }
  }

 private:
  const ReadableFile& file_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;
  std::optional<GzipReader> gzip_;
};

inline Shape read_idx_header(IdxSource& source) {
  constexpr std::byte kUnsignedByte{8};
  std::array<std::byte, 4> magic{};
  source.read(magic);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    throw DataLossError("{} is not an IDX file: it does not begin with two zero bytes", source.path());
  }
  if (magic[2] != kUnsignedByte) {
    throw UnimplementedError("{} holds IDX elements of type {}; only unsigned bytes (8) are read", source.path(),
                             std::to_integer<int>(magic[2]));
  }
  const std::size_t rank = std::to_integer<std::size_t>(magic[3]);
  if (rank == 0 || rank > kMaxRank)
    throw DataLossError("{} is not an IDX file of 1 to {} dimensions: it has {}", source.path(), kMaxRank, rank);
  std::array<std::int64_t, kMaxRank> dims{};
  std::uint64_t elements = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::array<std::byte, 4> digits{};
    source.read(digits);
    for (const std::byte digit : digits) dims[axis] = dims[axis] << 8 | std::to_integer<std::int64_t>(digit);
    if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(dims[axis]), &elements) ||
        elements > source.most_bytes()) {
      throw DataLossError("{} is damaged: its header promises more elements than the file can hold", source.path());
    }
  }
  try {
    return Shape(std::span<const std::int64_t>(dims.data(), rank));
  } catch (const InvalidArgumentError&) {  // behind a dimension of no elements
    throw DataLossError("{} is damaged: its header promises more elements than 63 bits count", source.path());
  }
}

/// The file `name`, compressed or not; empty if there is neither.
inline std::string find_idx_file(FileSystem& file_system, const std::string& directory, std::string_view name) {
  const std::string plain = join_path(directory, name);
  const std::string compressed = fmt::format("{}.gz", plain);
  if (file_system.exists(compressed)) return compressed;
  return file_system.exists(plain) ? plain : std::string();
}

inline std::string fashion_mnist_file(FileSystem& file_system, const std::string& directory, Split split,
                                      std::string_view rest) {
  const std::string name = fmt::format("{}{}", split == Split::Train ? "train-" : "t10k-", rest);
  std::string path = find_idx_file(file_system, directory, name);
  if (path.empty()) {
    throw NotFoundError(
        "no {}.gz in {}: install the data set (apt-get install dataset-fashion-mnist) or name its directory", name,
        directory);
  }
  return path;
}

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

Tensor read_idx_file(FileSystem& file_system, const std::string& path) {
  const std::unique_ptr<ReadableFile> file = file_system.open_readable(path);
  detail::IdxSource source(*file);
  const Shape shape = detail::read_idx_header(source);
  Tensor tensor = Tensor::uninitialized(DType::UInt8, shape);
  source.read(tensor.overwrite_bytes());
  source.expect_end();
  return tensor;
}

std::string fashion_mnist_directory(FileSystem& file_system) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): only setenv in another thread could disturb it, and nothing here calls that
  const char* chosen = std::getenv("FASHION_MNIST_DIR");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  for (const char* directory : {"/usr/share/datasets/fashion-mnist", "/usr/local/share/datasets/fashion-mnist"}) {
    if (!detail::find_idx_file(file_system, directory, "train-images-idx3-ubyte").empty()) return directory;
  }
  throw NotFoundError(
      "Fashion-MNIST is not installed: "
      "apt-get install dataset-fashion-mnist, or set FASHION_MNIST_DIR to its directory");
}

FashionMnist load_fashion_mnist(Split split, const std::string& directory, FileSystem& file_system) {
  const std::string image_path = detail::fashion_mnist_file(file_system, directory, split, "images-idx3-ubyte");
  const std::string label_path = detail::fashion_mnist_file(file_system, directory, split, "labels-idx1-ubyte");
  FashionMnist data{read_idx_file(file_system, image_path), read_idx_file(file_system, label_path)};
  const Shape& images = data.images.shape();
  if (images.rank() != 3 || images[1] != 28 || images[2] != 28) {
    throw DataLossError("{} holds {}, not images of 28 x 28 pixels", image_path, data.images);
  }
  if (data.labels.shape() != Shape{images[0]}) {
    throw DataLossError("{} holds {}, not a label for each of {} images", label_path, data.labels, images[0]);
  }
  for (const std::uint8_t label : data.labels.data<std::uint8_t>()) {
    if (label > 9) throw DataLossError("{} holds the label {}; labels are 0 to 9", label_path, static_cast<int>(label));
  }
  return data;
}

Dataset fashion_mnist(const std::string& directory, Split split, FileSystem& file_system) {
  FashionMnist data = load_fashion_mnist(split, directory, file_system);
  return Dataset::from_rows(
      std::make_shared<detail::LabeledImageRows>(split == Split::Train ? "fashion_mnist(train)" : "fashion_mnist(test)",
                                                 std::move(data.images), std::move(data.labels)));
}

}  // namespace trainhook
