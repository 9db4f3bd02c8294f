// SPDX-License-Identifier: Apache-2.0
/// @file
/// Pooling and its gradients as plain array expressions of Eigen, for tests and benchmarks of our own.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include <Eigen/Core>

namespace trainhook::test {

/// Takes a row of windows at a time, and of these one pixel each: those lie in the image at equal distances. Images
/// hold neither NaN nor infinity.
class PlainPooling {
 public:
  using Index = Eigen::Index;
  using Array = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  /// `image` is [batch, height, width, channels]; windows are squares.
  PlainPooling(const std::array<Index, 4>& image, Index size, Index stride, bool same)
      : image_(image),
        size_(size),
        stride_(stride),
        height_(steps(image[1], same)),
        width_(steps(image[2], same)),
        before_y_(before(image[1], height_, same)),
        before_x_(before(image[2], width_, same)),
        result_(image[0] * height_ * width_, image[3]),
        rest_(width_, image[3]),
        counts_(width_),
        image_gradient_(image[0] * image[1] * image[2], image[3]) {}

  const Array& largest(const float* image) {
    result_.setConstant(std::numeric_limits<float>::lowest());
    for_each_place([&](Index window, Index, Index count, Index pixel) {
      result_.middleRows(window, count) = result_.middleRows(window, count).max(pixels(image, pixel, count));
    });
    return result_;
  }

  const Array& largest_gradient(const float* image, const float* largest, const float* gradient) {
    image_gradient_.setZero();
    for_each_place(
        [&](Index window, Index x, Index count, Index pixel) {
          const auto is_largest = pixels(image, pixel, count) == rows(largest, window, count);
          auto rest = rest_.middleRows(x, count);
          pixels(image_gradient_.data(), pixel, count) += is_largest.select(rest, 0.0F);
          rest = is_largest.select(0.0F, rest);
        },
        [&](Index first_window) { rest_ = rows(gradient, first_window, width_); });
    return image_gradient_;
  }

  const Array& mean(const float* image) {
    result_.setZero();
    for_each_place([&](Index window, Index, Index count,
                       Index pixel) { result_.middleRows(window, count) += pixels(image, pixel, count); },
                   [](Index) {},
                   [&](Index first_window) { result_.middleRows(first_window, width_).colwise() /= counts_; });
    return result_;
  }

  const Array& mean_gradient(const float* gradient) {
    image_gradient_.setZero();
    for_each_place([&](Index, Index x, Index count,
                       Index pixel) { pixels(image_gradient_.data(), pixel, count) += rest_.middleRows(x, count); },
                   [&](Index first_window) { rest_ = rows(gradient, first_window, width_).colwise() / counts_; });
    return image_gradient_;
  }

  [[nodiscard]] std::array<Index, 4> result_shape() const { return {image_[0], height_, width_, image_[3]}; }

 private:
  [[nodiscard]] Index steps(Index extent, bool same) const {
    return same ? (extent + stride_ - 1) / stride_ : (extent - size_) / stride_ + 1;
  }
  [[nodiscard]] Index before(Index extent, Index steps, bool same) const {
    return same ? (std::max)(Index{0}, (steps - 1) * stride_ + size_ - extent) / 2 : 0;
  }

  [[nodiscard]] Eigen::Map<const Array> rows(const float* values, Index first, Index count) const {
    return {values + first * image_[3], count, image_[3]};
  }
  /// So many pixels from `first` on, each a stride from the one before.
  template <class T>
  using Pixels = Eigen::Map<std::conditional_t<std::is_const_v<T>, const Array, Array>, 0, Eigen::OuterStride<>>;
  template <class T>
  [[nodiscard]] Pixels<T> pixels(T* values, Index first, Index count) const {
    return {values + first * image_[3], count, image_[3], Eigen::OuterStride<>(stride_ * image_[3])};
  }

  /// Calls `code(first window, its place in its row, number of windows, first pixel)` for each place of a window, with
  /// the windows of a row whose pixel there lies in the image; `before` and `after` for each row.
  template <class Code, class Before, class After>
  void for_each_place(const Code& code, const Before& before, const After& after) {
    for (Index image = 0; image < image_[0]; ++image) {
      for (Index y = 0; y < height_; ++y) {
        const Index window = (image * height_ + y) * width_;
        const Index top = y * stride_ - before_y_;
        const Index first_y = (std::max)(Index{0}, -top);
        const Index last_y = (std::min)(size_, image_[1] - top);
        for (Index x = 0; x < width_; ++x) {
          const Index left = x * stride_ - before_x_;
          counts_(x) = static_cast<float>((last_y - first_y) *
                                          ((std::min)(size_, image_[2] - left) - (std::max)(Index{0}, -left)));
        }
        before(window);
        for (Index ky = first_y; ky < last_y; ++ky) {
          for (Index kx = 0; kx < size_; ++kx) {
            const Index offset = kx - before_x_;  // of the pixel of the first window
            const Index first = offset < 0 ? (stride_ - 1 - offset) / stride_ : 0;
            const Index last = (std::min)(width_, (image_[2] - 1 - offset) / stride_ + 1);
            if (first >= last) continue;
            const Index pixel = (image * image_[1] + top + ky) * image_[2] + first * stride_ + offset;
            code(window + first, first, last - first, pixel);
          }
        }
        after(window);
      }
    }
  }
  template <class Code, class Before>
  void for_each_place(const Code& code, const Before& before) {
    for_each_place(code, before, [](Index) {});
  }
  template <class Code>
  void for_each_place(const Code& code) {
    for_each_place(
        code, [](Index) {}, [](Index) {});
  }

  std::array<Index, 4> image_;
  Index size_, stride_, height_, width_, before_y_, before_x_;
  Array result_, rest_;
  Eigen::ArrayXf counts_;
  Array image_gradient_;
};

}  // namespace trainhook::test
