// SPDX-License-Identifier: Apache-2.0
/// @file
/// One training step of a small convolutional classifier with Adam, at batch 32: EigenSession beside TensorFlow.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/model/layers.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/ops/conv.hpp>
#include <trainhook/model/optimizers.hpp>

#include "record.hpp"
#include "threads.hpp"

namespace {

namespace th = trainhook;

constexpr std::int64_t kBatch = 32;

class Ours {
 public:
  explicit Ours(std::size_t num_threads)
      : x_(th::placeholder(graph_, th::DType::Float, {th::kUnknownDim, 28, 28, 1}, "x")),
        y_(th::placeholder(graph_, th::DType::Int64, {th::kUnknownDim}, "y")),
        loss_(build_loss()),
        train_(th::AdamOptimizer({.learning_rate = 1e-3}).minimize(loss_, th::get_or_create_global_step(graph_))),
        session_(graph_,
                 {.kernels = {th::kernels::array(), th::kernels::conv(), th::kernels::math(), th::kernels::matmul(),
                              th::kernels::nn(), th::kernels::pool(), th::kernels::random(), th::kernels::reduction(),
                              th::kernels::state(), th::kernels::training()},
                  .num_threads = num_threads}) {
    session_.run(th::global_variables_initializer(graph_));
    std::mt19937 random(7);
    std::uniform_real_distribution<float> pixel(0, 1);
    for (float& value : images_.overwrite_data<float>()) value = pixel(random);
    for (std::int64_t& value : labels_.overwrite_data<std::int64_t>()) value = static_cast<std::int64_t>(random() % 10);
  }

  float step() {
    const th::Fetch fetches[] = {train_, loss_};
    const th::Feed feeds[] = {{x_, images_}, {y_, labels_}};
    session_.execute({.fetches = fetches, .feed_dict = feeds}, results_);
    return results_[1].scalar<float>();
  }

 private:
  th::Output build_loss() {
    const th::Conv2DLayerOptions layer{.padding = th::Padding::Same,
                                       .activation = [](th::Output x) { return th::relu(x); }};
    const th::Output first = th::max_pool(th::conv2d(x_, 32, {5, 5}, "conv1", layer));
    const th::Output second = th::max_pool(th::conv2d(first, 64, {5, 5}, "conv2", layer));
    const th::Output hidden = th::relu(th::dense(th::reshape(second, {-1, 7 * 7 * 64}), 128, "hidden"));
    return th::reduce_mean(th::sparse_softmax_cross_entropy_with_logits(y_, th::dense(hidden, 10, "logits")));
  }

  th::Graph graph_;
  th::Output x_, y_, loss_;
  th::Operation train_;
  th::GraphSession session_;
  th::Tensor images_{th::DType::Float, th::Shape{kBatch, 28, 28, 1}};
  th::Tensor labels_{th::DType::Int64, th::Shape{kBatch}};
  std::array<th::Tensor, 2> results_;
};

}  // namespace

int main() {
  Ours one(1);
  Ours all(0);
  float sink = one.step() + all.step();
  const auto milliseconds_of = [&sink](Ours& model) {
    return [&sink, &model] {
      constexpr int kSteps = 10;
      return 1e3 / kSteps * th::bench::seconds([&] {
               for (int i = 0; i < kSteps; ++i) sink += model.step();
             });
    };
  };
  th::bench::report_threads("conv_step_32", 10, milliseconds_of(one), milliseconds_of(all));
  return std::isfinite(sink) ? EXIT_SUCCESS : EXIT_FAILURE;
}
