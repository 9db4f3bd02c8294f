// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fashion-MNIST, shuffled and batched, as floats: images a second beside tf.data, which is given them as floats.

#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <trainhook/data/dataset.hpp>
#include <trainhook/media/mnist.hpp>

#include "record.hpp"

namespace th = trainhook;

int main() {
  const th::Dataset batches = th::fashion_mnist(th::Split::Train).shuffle(10'000, 7).batch(64);
  th::bench::TensorFlow tensorflow("dataset");
  std::vector<double> ours;
  for (int round = 0; round < 7; ++round) {
    double images = 0;
    const double elapsed = th::bench::seconds([&] {
      auto iterator = batches.make_iterator();
      for (th::Element batch; iterator.next(batch);) {
        benchmark::DoNotOptimize(batch[0].bytes().data());
        images += static_cast<double>(batch[1].num_elements());
      }
    });
    ours.push_back(1e-3 * images / elapsed);
    tensorflow.measure();
  }
  tensorflow.report(
      {.name = "dataset", .ours = th::bench::median(ours), .unit = "k images/s", .goal = 3, .more_is_better = true});
}
