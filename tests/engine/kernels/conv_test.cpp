// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, convolution.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plain_convolution.hpp"
#include "run_op.hpp"

namespace trainhook {
namespace {

Attrs attrs(std::string padding, std::int64_t stride_height = 1, std::int64_t stride_width = 0) {
  return {
      {"T", DType::Float},
      {"data_format", std::string("NHWC")},
      {"dilations", std::vector<std::int64_t>{1, 1, 1, 1}},
      {"padding", std::move(padding)},
      {"strides", std::vector<std::int64_t>{1, stride_height, stride_width == 0 ? stride_height : stride_width, 1}}};
}

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, const Attrs& with) {
  return test::run_op(kernels::conv(), type, inputs, with, DType::Float);
}

Tensor sizes(const Shape& shape) {
  Tensor result(DType::Int32, {static_cast<std::int64_t>(shape.rank())});
  std::ranges::transform(shape.dims(), result.mutable_data<std::int32_t>().begin(),
                         [](std::int64_t dim) { return static_cast<std::int32_t>(dim); });
  return result;
}

const Tensor kImage = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1});
const Tensor kFilter = Tensor::of<float>({1, 10, 100, 1000}, {2, 2, 1, 1});

TEST(ConvKernels, MoveTheFilterOverTheImage) {
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, attrs("VALID")),
            Tensor::of<float>({5421, 6532, 8754, 9865}, {1, 2, 2, 1}));
}

TEST(ConvKernels, PadBehindFirst) {
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, attrs("SAME")),
            Tensor::of<float>({5421, 6532, 603, 8754, 9865, 906, 87, 98, 9}, {1, 3, 3, 1}));
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, attrs("SAME", 2)), Tensor::of<float>({5421, 603, 87, 9}, {1, 2, 2, 1}));
}

TEST(ConvKernels, WindowsThatOverflowAreErrors) {
  const auto with = [](const char* attr, std::int64_t value, std::string padding = "SAME") {
    Attrs result = attrs(std::move(padding));
    result[attr] = std::vector<std::int64_t>{1, value, value, 1};
    return result;
  };
  const Tensor filter(DType::Float, Shape{3, 3, 1, 1});
  for (const std::int64_t dilation : {std::int64_t{INT32_MAX}, std::int64_t{1} << 30}) {
    EXPECT_THROW(static_cast<void>(run("Conv2D", {kImage, filter}, with("dilations", dilation))), InvalidArgumentError);
    EXPECT_THROW(static_cast<void>(run("Conv2D", {kImage, filter}, with("dilations", dilation, "VALID"))),
                 InvalidArgumentError);
  }
  for (const char* attr : {"dilations", "strides"})
    EXPECT_THROW(static_cast<void>(run("Conv2D", {kImage, filter}, with(attr, INT64_MAX))), UnimplementedError);
  const Tensor none(DType::Float, Shape{0, INT64_MAX, 1, 1});
  EXPECT_THROW(static_cast<void>(run("Conv2D", {none, filter}, attrs("SAME", 2))), InvalidArgumentError);
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, with("strides", INT32_MAX)), Tensor::of<float>({5421}, {1, 1, 1, 1}));
}

/// The values, with 999 for NaN.
std::vector<float> without_nan(const Tensor& tensor) {
  std::vector<float> values;
  for (const float value : tensor.data<float>()) values.push_back(std::isnan(value) ? 999 : value);
  return values;
}

TEST(ConvKernels, MakeNanOfZerosAroundTheImageAndInfinityInTheFilterAsTensorFlowDoes) {
  const Tensor image = Tensor::of<float>({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 3, 3, 1});
  const Tensor filter = Tensor::of<float>({INFINITY, 0, 0, 0, 0, 0, 0, 0, 0}, {3, 3, 1, 1});
  EXPECT_EQ(without_nan(run("Conv2D", {image, filter}, attrs("SAME"))),
            (std::vector<float>{999, 999, 999, 999, INFINITY, INFINITY, 999, INFINITY, INFINITY}));
}

TEST(ConvKernels, GivePixelsNoGradientFromOutsideOfTheResultThroughAFilterThatIsNotFinite) {
  const Tensor gradient = Tensor::of<float>({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 3, 3, 1});
  const auto of = [&](const Tensor& filter) {
    return without_nan(run("Conv2DBackpropInput", {sizes({1, 3, 3, 1}), filter, gradient}, attrs("SAME")));
  };
  EXPECT_EQ(of(Tensor::of<float>({INFINITY, 0, 0, 0, 0, 0, 0, 0, 0}, {3, 3, 1, 1})),
            (std::vector<float>{INFINITY, INFINITY, 0, INFINITY, INFINITY, 0, 0, 0, 0}));
  EXPECT_EQ(of(Tensor::of<float>({1, 1, 1, NAN}, {2, 2, 1, 1})),
            (std::vector<float>{1, 2, 2, 2, 999, 999, 2, 999, 999}));
}

TEST(ConvKernels, MixChannels) {
  const Tensor image = Tensor::of<float>({1, 2, 3, 4}, {1, 1, 2, 2});
  EXPECT_EQ(run("Conv2D", {image, Tensor::of<float>({1, 10, 100, 1000}, {1, 1, 2, 2})}, attrs("VALID")),
            Tensor::of<float>({201, 2010, 403, 4030}, {1, 1, 2, 2}));
}

TEST(ConvKernels, GiveTheGradientsOfBothInputs) {
  const Tensor gradient = Tensor::of<float>({1, 0, 0, 2}, {1, 2, 2, 1});
  EXPECT_EQ(run("Conv2DBackpropFilter", {kImage, Tensor::of<std::int32_t>({2, 2, 1, 1}), gradient}, attrs("VALID")),
            Tensor::of<float>({1 + 10, 2 + 12, 4 + 16, 5 + 18}, {2, 2, 1, 1}));
  EXPECT_EQ(run("Conv2DBackpropInput", {Tensor::of<std::int32_t>({1, 3, 3, 1}), kFilter, gradient}, attrs("VALID")),
            Tensor::of<float>({1, 10, 0, 100, 1002, 20, 0, 200, 2000}, {1, 3, 3, 1}));
}

/// Small integers, whose sums are exact in whatever order.
Tensor integers(const Shape& shape, std::int64_t seed) {
  Tensor result(DType::Float, shape);
  for (float& value : result.mutable_data<float>())
    value = static_cast<float>((seed = (seed * 1'103'515'245 + 12'345) % 2'147'483'648) % 7 - 3);
  return result;
}

/// Calls `visit(image element, filter element, result element)` for each product that a convolution sums up.
template <class Visit>
void for_each_product(const Shape& image, const Shape& filter, const Shape& result, std::array<std::int64_t, 2> strides,
                      std::array<std::int64_t, 2> before, Visit&& visit) {
  for (std::int64_t n = 0; n < result[0]; ++n) {
    for (std::int64_t y = 0; y < result[1]; ++y) {
      for (std::int64_t x = 0; x < result[2]; ++x) {
        for (std::int64_t ky = 0; ky < filter[0]; ++ky) {
          for (std::int64_t kx = 0; kx < filter[1]; ++kx) {
            const std::int64_t iy = y * strides[0] + ky - before[0];
            const std::int64_t ix = x * strides[1] + kx - before[1];
            if (iy < 0 || iy >= image[1] || ix < 0 || ix >= image[2]) continue;
            const std::int64_t image_begin = ((n * image[1] + iy) * image[2] + ix) * image[3];
            const std::int64_t filter_begin = (ky * filter[1] + kx) * filter[2] * filter[3];
            const std::int64_t result_begin = ((n * result[1] + y) * result[2] + x) * result[3];
            for (std::int64_t in = 0, in_end = filter[2], out_end = filter[3]; in < in_end; ++in) {
              for (std::int64_t out = 0; out < out_end; ++out)
                visit(image_begin + in, filter_begin + in * out_end + out, result_begin + out);
            }
          }
        }
      }
    }
  }
}

struct ConvCase {
  Shape image;
  Shape filter;
  std::int64_t stride_height;
  std::int64_t stride_width;
};

/// Windows of any size and stride, also such that leave pixels out; channels that fill vectors and ones that do not.
const ConvCase kCases[] = {{{2, 5, 7, 3}, {3, 3, 3, 4}, 1, 1},     {{1, 6, 5, 1}, {2, 4, 1, 33}, 1, 2},
                           {{2, 7, 8, 5}, {3, 2, 5, 7}, 2, 3},     {{1, 9, 9, 2}, {5, 5, 2, 70}, 3, 2},
                           {{1, 5, 6, 4}, {1, 1, 4, 3}, 1, 1},     {{2, 7, 7, 3}, {1, 2, 3, 2}, 3, 4},
                           {{1, 1, 9, 17}, {1, 3, 17, 16}, 1, 1},  {{1, 4, 4, 1}, {4, 4, 1, 1}, 1, 1},
                           {{1, 12, 3, 40}, {5, 3, 40, 65}, 2, 1}, {{1, 3, 2, 300}, {2, 2, 300, 9}, 1, 1},
                           {{2, 40, 30, 1}, {3, 30, 1, 70}, 1, 1}, {{30, 3, 4, 2}, {3, 4, 2, 5}, 1, 1}};

TEST(ConvKernels, SumUpWhatWindowsSeeInResultAndGradients) {
  for (const ConvCase& c : kCases) {
    for (const bool same : {true, false}) {
      SCOPED_TRACE(
          fmt::format("{} {} {} {} {}", c.image, c.filter, c.stride_height, c.stride_width, same ? "SAME" : "VALID"));
      const std::array strides{c.stride_height, c.stride_width};
      std::array<std::int64_t, 2> before{};
      std::array<std::int64_t, 2> steps{};
      for (std::size_t d = 0; d < 2; ++d) {
        const std::int64_t extent = c.image[d + 1];
        steps[d] = ((same ? extent : extent - c.filter[d] + 1) + strides[d] - 1) / strides[d];
        if (same) before[d] = std::max<std::int64_t>(0, (steps[d] - 1) * strides[d] + c.filter[d] - extent) / 2;
      }
      const Shape shape{c.image[0], steps[0], steps[1], c.filter[3]};
      const Tensor image = integers(c.image, 1);
      const Tensor filter = integers(c.filter, 2);
      const Tensor gradient = integers(shape, 3);
      Tensor result(DType::Float, shape);
      Tensor image_gradient(DType::Float, c.image);
      Tensor filter_gradient(DType::Float, c.filter);
      const float* const from_image = image.data<float>().data();
      const float* const from_filter = filter.data<float>().data();
      const float* const from_gradient = gradient.data<float>().data();
      float* const to_result = result.mutable_data<float>().data();
      float* const to_image = image_gradient.mutable_data<float>().data();
      float* const to_filter = filter_gradient.mutable_data<float>().data();
      for_each_product(c.image, c.filter, shape, strides, before, [&](std::int64_t i, std::int64_t f, std::int64_t r) {
        to_result[r] += from_image[i] * from_filter[f];
        to_image[i] += from_filter[f] * from_gradient[r];
        to_filter[f] += from_image[i] * from_gradient[r];
      });
      const Attrs with = attrs(same ? "SAME" : "VALID", c.stride_height, c.stride_width);
      EXPECT_EQ(run("Conv2D", {image, filter}, with), result);
      EXPECT_EQ(run("Conv2DBackpropInput", {sizes(c.image), filter, gradient}, with), image_gradient);
      EXPECT_EQ(run("Conv2DBackpropFilter", {image, sizes(c.filter), gradient}, with), filter_gradient);
    }
  }
}

TEST(ConvKernels, ComputeWhatProductsOfEigenDo) {
  for (const std::int64_t channels : {1, 32}) {
    for (const std::int64_t stride : {1, 2}) {
      const Shape image_shape{3, 14, 15, channels};
      const Shape filter_shape{5, 5, channels, 64};
      const Shape shape{3, (14 + stride - 1) / stride, (15 + stride - 1) / stride, 64};
      const Tensor image = integers(image_shape, 1);
      const Tensor filter = integers(filter_shape, 2);
      const Tensor gradient = integers(shape, 3);
      const auto from = [](const Tensor& tensor) { return tensor.data<float>().data(); };
      test::PlainConvolution plain({3, 14, 15, channels}, {5, 5, channels, 64}, stride);
      const auto expect_equal = [&](const Tensor& actual, const auto& expected) {
        EXPECT_TRUE(std::ranges::equal(actual.data<float>(),
                                       std::span(expected.data(), static_cast<std::size_t>(expected.size()))))
            << channels << ' ' << stride;
      };
      const Attrs with = attrs("SAME", stride);
      expect_equal(run("Conv2D", {image, filter}, with), plain.forward(from(image), from(filter)));
      expect_equal(run("Conv2DBackpropInput", {sizes(image_shape), filter, gradient}, with),
                   plain.image_gradient(from(filter), from(gradient)));
      expect_equal(run("Conv2DBackpropFilter", {image, sizes(filter_shape), gradient}, with),
                   plain.filter_gradient(from(image), from(gradient)));
    }
  }
}

TEST(ConvKernels, GiveNothingForNothing) {
  const Tensor none(DType::Float, {0, 3, 3, 2});
  const Tensor filter = integers({2, 2, 2, 5}, 1);
  const Tensor gradient(DType::Float, {0, 2, 2, 5});
  EXPECT_EQ(run("Conv2D", {none, filter}, attrs("VALID")), gradient);
  EXPECT_EQ(run("Conv2DBackpropInput", {sizes({0, 3, 3, 2}), filter, gradient}, attrs("VALID")), none);
  EXPECT_EQ(run("Conv2DBackpropFilter", {none, sizes({2, 2, 2, 5}), gradient}, attrs("VALID")),
            Tensor(DType::Float, {2, 2, 2, 5}));
  const Tensor no_channels(DType::Float, {1, 3, 3, 0});
  EXPECT_EQ(run("Conv2D", {no_channels, Tensor(DType::Float, {2, 2, 0, 5})}, attrs("VALID")),
            Tensor(DType::Float, {1, 2, 2, 5}));
  EXPECT_EQ(run("Conv2DBackpropInput",
                {sizes({1, 3, 3, 2}), Tensor(DType::Float, {2, 2, 2, 0}), Tensor(DType::Float, {1, 2, 2, 0})},
                attrs("VALID")),
            Tensor(DType::Float, {1, 3, 3, 2}));
}

TEST(ConvKernels, RefuseWhatDoesNotFit) {
  EXPECT_THROW(run("Conv2D", {kImage, Tensor(DType::Float, {2, 2, 3, 1})}, attrs("VALID")), InvalidArgumentError);
  EXPECT_THROW(run("Conv2D", {kImage, Tensor(DType::Float, {4, 4, 1, 1})}, attrs("VALID")), InvalidArgumentError);
  EXPECT_THROW(run("Conv2D", {kImage, Tensor(DType::Float, {2, 2})}, attrs("VALID")), InvalidArgumentError);
  EXPECT_THROW(run("Conv2D", {kImage, kFilter}, attrs("EXPLICIT")), UnimplementedError);
  EXPECT_THROW(run("Conv2DBackpropInput", {Tensor::of<std::int32_t>({1, 3, 3, 1}), kFilter, kImage}, attrs("VALID")),
               InvalidArgumentError);
}

TEST(ConvKernels, SpreadDilatedWindows) {
  Attrs dilated = attrs("VALID");
  dilated["dilations"] = std::vector<std::int64_t>{1, 2, 1, 1};
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, dilated), Tensor::of<float>({8721, 9832}, {1, 1, 2, 1}));
  dilated["dilations"] = std::vector<std::int64_t>{1, 1, 2, 1};
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, dilated), Tensor::of<float>({6431, 9764}, {1, 2, 1, 1}));
}

/// The sum of products of all elements.
float inner_product(const Tensor& a, const Tensor& b) {
  return std::inner_product(a.data<float>().begin(), a.data<float>().end(), b.data<float>().begin(), 0.0F);
}

TEST(ConvKernels, GradientsOfDilatedAndPaddedWindowsGoTheWayBack) {
  const auto counting = [](const Shape& shape) {
    Tensor tensor(DType::Float, shape);
    int i = 0;
    for (float& value : tensor.overwrite_data<float>()) value = static_cast<float>(i++ * 7 % 11 - 5);
    return tensor;
  };
  Attrs with = attrs("EXPLICIT", 2, 1);
  with["explicit_paddings"] = std::vector<std::int64_t>{0, 0, 1, 3, 5, 0, 0, 0};
  for (const std::vector<std::int64_t>& dilations :
       {std::vector<std::int64_t>{1, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 3, 1}, {1, 3, 2, 1}}) {
    with["dilations"] = dilations;
    const Tensor image = counting({2, 6, 7, 2});
    const Tensor filter = counting({3, 2, 2, 3});
    const Tensor result = run("Conv2D", {image, filter}, with);
    const Tensor gradient = counting(result.shape());
    const float expected = inner_product(result, gradient);
    const Tensor of_image = run("Conv2DBackpropInput", {sizes(image.shape()), filter, gradient}, with);
    const Tensor of_filter = run("Conv2DBackpropFilter", {image, sizes(filter.shape()), gradient}, with);
    EXPECT_EQ(inner_product(of_image, image), expected) << dilations[1] << dilations[2];
    EXPECT_EQ(inner_product(of_filter, filter), expected) << dilations[1] << dilations[2];
  }
}

TEST(ConvKernels, PadAsManyZerosAsTheAttributeSays) {
  Attrs padded = attrs("EXPLICIT");
  padded["explicit_paddings"] = std::vector<std::int64_t>{0, 0, 0, 0, 2, 1, 0, 0};
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, padded),
            Tensor::of<float>({0, 4010, 5421, 6532, 603, 0, 7040, 8754, 9865, 906}, {1, 2, 5, 1}));
}

}  // namespace
}  // namespace trainhook
