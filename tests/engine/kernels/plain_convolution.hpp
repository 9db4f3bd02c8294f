// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution and its gradients as plain products of Eigen, for tests and benchmarks of our own.
#pragma once

#include <algorithm>
#include <array>

#include <Eigen/Core>

namespace trainhook::test {

/// Writes out all windows of the images, [batch * result height * result width, window height * window width * in],
/// so that a convolution is one product. Padding is SAME.
class PlainConvolution {
 public:
  using Index = Eigen::Index;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using ConstMap = Eigen::Map<const Matrix>;

  /// `image` is [batch, height, width, in], `filter` [height, width, in, out].
  PlainConvolution(const std::array<Index, 4>& image, const std::array<Index, 4>& filter, Index stride)
      : image_(image),
        filter_(filter),
        stride_(stride),
        height_((image[1] + stride - 1) / stride),
        width_((image[2] + stride - 1) / stride),
        windows_(image[0] * height_ * width_, filter[0] * filter[1] * filter[2]),
        result_(windows_.rows(), filter[3]),
        filter_gradient_(windows_.cols(), filter[3]),
        image_gradient_(image[0] * image[1] * image[2], image[3]) {}

  const Matrix& forward(const float* image, const float* filter) {
    write_windows(image);
    result_.noalias() = windows_ * ConstMap(filter, windows_.cols(), filter_[3]);
    return result_;
  }

  const Matrix& filter_gradient(const float* image, const float* gradient) {
    write_windows(image);
    filter_gradient_.noalias() = windows_.transpose() * ConstMap(gradient, windows_.rows(), filter_[3]);
    return filter_gradient_;
  }

  const Matrix& image_gradient(const float* filter, const float* gradient) {
    windows_.noalias() =
        ConstMap(gradient, windows_.rows(), filter_[3]) * ConstMap(filter, windows_.cols(), filter_[3]).transpose();
    image_gradient_.setZero();
    for_each_place([&](Index row, Index column, Index pixel) {
      image_gradient_.row(pixel) += windows_.block(row, column, 1, image_[3]);
    });
    return image_gradient_;
  }

  [[nodiscard]] Index rows() const { return windows_.rows(); }

 private:
  void write_windows(const float* image) {
    const ConstMap pixels(image, image_gradient_.rows(), image_[3]);
    windows_.setZero();
    for_each_place(
        [&](Index row, Index column, Index pixel) { windows_.block(row, column, 1, image_[3]) = pixels.row(pixel); });
  }

  /// Calls `visit(row and first column in the windows, pixel)` for each place of each window that is on an image.
  template <class Visit>
  void for_each_place(const Visit& visit) const {
    const auto before = [&](Index extent, Index size, Index steps) {
      return std::max(Index{0}, (steps - 1) * stride_ + size - extent) / 2;
    };
    const Index above = before(image_[1], filter_[0], height_);
    const Index left = before(image_[2], filter_[1], width_);
    for (Index row = 0; row < windows_.rows(); ++row) {
      const Index y = row / width_ % height_ * stride_ - above;
      const Index x = row % width_ * stride_ - left;
      const Index image = row / (width_ * height_);
      for (Index place = 0; place < filter_[0] * filter_[1]; ++place) {
        const Index pixel_y = y + place / filter_[1];
        const Index pixel_x = x + place % filter_[1];
        if (pixel_y < 0 || pixel_y >= image_[1] || pixel_x < 0 || pixel_x >= image_[2]) continue;
        visit(row, place * filter_[2], (image * image_[1] + pixel_y) * image_[2] + pixel_x);
      }
    }
  }

  std::array<Index, 4> image_, filter_;
  Index stride_, height_, width_;
  Matrix windows_, result_, filter_gradient_, image_gradient_;
};

}  // namespace trainhook::test
