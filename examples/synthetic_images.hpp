// SPDX-License-Identifier: Apache-2.0
/// @file
/// Images that are generated: ten blurred patterns under noise, for a machine without a data set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <trainhook/core/random.hpp>
#include <trainhook/data/dataset.hpp>

/// `count` images, float32 [784] in 0 to 1, with int64 labels 0 to 9: the same for the same `seed` on every machine.
inline trainhook::Dataset synthetic_images(std::int64_t count, std::uint64_t seed) {
  namespace th = trainhook;
  constexpr std::int64_t kPixels = 784;
  std::vector<float> patterns(10 * kPixels);
  th::PhiloxGenerator(0).fill_uniform(std::span(patterns));
  th::Tensor images = th::Tensor::uninitialized(th::DType::Float, {count, kPixels});
  th::Tensor labels = th::Tensor::uninitialized(th::DType::Int64, {count});
  const std::span<float> pixels = images.overwrite_data<float>();
  const std::span<std::int64_t> classes = labels.overwrite_data<std::int64_t>();
  th::PhiloxGenerator noise(seed);
  noise.fill_uniform(pixels);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t label = classes[static_cast<std::size_t>(i)] = (i * 7) % 10;
    for (std::int64_t p = 0; p < kPixels; ++p) {
      float& pixel = pixels[static_cast<std::size_t>(i * kPixels + p)];
      pixel = 0.85F * pixel + 0.15F * patterns[static_cast<std::size_t>(label * kPixels + p)];
    }
  }
  return th::Dataset::from_tensor_slices({images, labels});
}
