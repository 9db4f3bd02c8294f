// SPDX-License-Identifier: Apache-2.0
/// @file
/// One training step with Adam of three dense layers of 1,024 or 2,048: EigenSession beside TensorFlow, with one thread
/// each and with as many as there are processors.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/model/layers.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/optimizers.hpp>

#include "record.hpp"
#include "threads.hpp"

namespace {

namespace th = trainhook;

class Ours {
 public:
  Ours(std::int64_t width, std::int64_t batch, std::size_t num_threads)
      : x_(th::placeholder(graph_, th::DType::Float, {th::kUnknownDim, width}, "x")),
        loss_(build_loss(width)),
        train_(th::AdamOptimizer({.learning_rate = 1e-4}).minimize(loss_, th::get_or_create_global_step(graph_))),
        session_(graph_, {.num_threads = num_threads}),
        inputs_(th::DType::Float, th::Shape{batch, width}) {
    session_.run(th::global_variables_initializer(graph_));
    std::mt19937 random(7);
    std::uniform_real_distribution<float> number(0, 1);
    for (float& value : inputs_.overwrite_data<float>()) value = number(random);
  }

  float step() {
    const th::Fetch fetches[] = {train_, loss_};
    const th::Feed feeds[] = {{x_, inputs_}};
    session_.execute({.fetches = fetches, .feed_dict = feeds}, results_);
    return results_[1].scalar<float>();
  }

 private:
  th::Output build_loss(std::int64_t width) {
    th::Output layer = x_;
    for (int i = 1; i <= 3; ++i) layer = th::relu(th::dense(layer, width, "layer" + std::to_string(i)));
    return th::reduce_mean(th::square(layer));
  }

  th::Graph graph_;
  th::Output x_, loss_;
  th::Operation train_;
  th::EigenSession session_;
  th::Tensor inputs_;
  std::array<th::Tensor, 2> results_;
};

void measure(std::int64_t width, std::int64_t batch, int steps, float& sink) {
  Ours one(width, batch, 1);
  Ours all(width, batch, 0);
  sink += one.step() + all.step();
  const auto milliseconds_of = [&, steps](Ours& model) {
    return [&, steps] {
      return 1e3 / steps * th::bench::seconds([&] {
               for (int i = 0; i < steps; ++i) sink += model.step();
             });
    };
  };
  th::bench::report_threads("mlp_wide_" + std::to_string(width), 9, milliseconds_of(one), milliseconds_of(all));
}

}  // namespace

int main() {
  float sink = 0;
  measure(1024, 64, 10, sink);
  measure(2048, 128, 4, sink);
  return std::isfinite(sink) ? EXIT_SUCCESS : EXIT_FAILURE;
}
