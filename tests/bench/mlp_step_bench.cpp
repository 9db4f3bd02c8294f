// SPDX-License-Identifier: Apache-2.0
/// @file
/// One training step of a 784-128-10 classifier with Adam: EigenSession beside the same step written by hand on Eigen.

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernel_threads.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/model/layers.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/optimizers.hpp>

#include "record.hpp"

namespace {

namespace th = trainhook;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::Matrix<float, 1, Eigen::Dynamic>;

constexpr std::int64_t kInputs = 784;
constexpr std::int64_t kHidden = 128;
constexpr std::int64_t kClasses = 10;

struct Batch {
  th::Tensor images;
  th::Tensor labels;
};

Batch random_batch(std::int64_t size) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> pixel(0, 1);
  Batch batch{th::Tensor(th::DType::Float, th::Shape{size, kInputs}), th::Tensor(th::DType::Int64, th::Shape{size})};
  for (float& value : batch.images.overwrite_data<float>()) value = pixel(random);
  for (std::int64_t& value : batch.labels.overwrite_data<std::int64_t>())
    value = static_cast<std::int64_t>(random() % kClasses);
  return batch;
}

/// A parameter with its gradient and Adam's two moments.
template <class M>
struct Parameter {
  M value, gradient, m, v;

  Parameter(Eigen::Index rows, Eigen::Index columns)
      : value(M::Random(rows, columns) * 0.05F),
        gradient(M::Zero(rows, columns)),
        m(M::Zero(rows, columns)),
        v(M::Zero(rows, columns)) {}

  void adam(float rate) {
    m.array() += (gradient.array() - m.array()) * 0.1F;
    v.array() += (gradient.array().square() - v.array()) * 0.001F;
    value.array() -= (m.array() * rate) / (v.array().sqrt() + 1e-8F);
  }
};

class HandWritten {
 public:
  explicit HandWritten(std::int64_t batch)
      : hidden_(batch, kHidden),
        d_hidden_(batch, kHidden),
        logits_(batch, kClasses),
        w1_(kInputs, kHidden),
        w2_(kHidden, kClasses),
        b1_(1, kHidden),
        b2_(1, kClasses) {}

  float step(const Batch& batch) {
    const Eigen::Map<const Matrix> x(batch.images.data<float>().data(), hidden_.rows(), kInputs);
    const std::int64_t* labels = batch.labels.data<std::int64_t>().data();
    hidden_.noalias() = x * w1_.value;
    hidden_.rowwise() += b1_.value;
    hidden_ = hidden_.cwiseMax(0.0F);
    logits_.noalias() = hidden_ * w2_.value;
    logits_.rowwise() += b2_.value;

    float loss = 0;
    const float scale = 1.0F / static_cast<float>(logits_.rows());
    for (Eigen::Index i = 0; i < logits_.rows(); ++i) {
      logits_.row(i).array() -= logits_.row(i).maxCoeff();
      const float shifted = logits_(i, labels[i]);
      logits_.row(i) = logits_.row(i).array().exp();
      const float sum = logits_.row(i).sum();
      loss += std::log(sum) - shifted;
      logits_.row(i) /= sum;
      logits_(i, labels[i]) -= 1.0F;
    }
    logits_ *= scale;

    w2_.gradient.noalias() = hidden_.transpose() * logits_;
    b2_.gradient = logits_.colwise().sum();
    d_hidden_.noalias() = logits_ * w2_.value.transpose();
    d_hidden_ = (hidden_.array() > 0.0F).select(d_hidden_, 0.0F);
    w1_.gradient.noalias() = x.transpose() * d_hidden_;
    b1_.gradient = d_hidden_.colwise().sum();

    beta1_power_ *= 0.9F;
    beta2_power_ *= 0.999F;
    const float rate = 1e-3F * std::sqrt(1.0F - beta2_power_) / (1.0F - beta1_power_);
    w1_.adam(rate);
    b1_.adam(rate);
    w2_.adam(rate);
    b2_.adam(rate);
    return loss * scale;
  }

 private:
  Matrix hidden_, d_hidden_, logits_;
  Parameter<Matrix> w1_, w2_;
  Parameter<Row> b1_, b2_;
  float beta1_power_ = 1;
  float beta2_power_ = 1;
};

class Ours {
 public:
  explicit Ours(std::size_t num_threads)
      : x_(th::placeholder(graph_, th::DType::Float, {th::kUnknownDim, kInputs}, "x")),
        y_(th::placeholder(graph_, th::DType::Int64, {th::kUnknownDim}, "y")),
        loss_(build_loss()),
        train_(th::AdamOptimizer({.learning_rate = 1e-3}).minimize(loss_, th::get_or_create_global_step(graph_))),
        init_(th::global_variables_initializer(graph_)),
        session_(graph_, {.kernels = {th::kernels::array(), th::kernels::math(), th::kernels::matmul(),
                                      th::kernels::nn(), th::kernels::random(), th::kernels::reduction(),
                                      th::kernels::state(), th::kernels::training()},
                          .num_threads = num_threads}) {
    session_.run(init_);
  }

  float step(const Batch& batch) {
    const th::Fetch fetches[] = {train_, loss_};
    const th::Feed feeds[] = {{x_, batch.images}, {y_, batch.labels}};
    session_.execute({.fetches = fetches, .feed_dict = feeds}, results_);
    return results_[1].scalar<float>();
  }

 private:
  th::Output build_loss() {
    const th::Output hidden = th::relu(th::dense(x_, kHidden, "hidden"));
    return th::reduce_mean(th::sparse_softmax_cross_entropy_with_logits(y_, th::dense(hidden, kClasses, "logits")));
  }

  th::Graph graph_;
  th::Output x_, y_, loss_;
  th::Operation train_, init_;
  th::GraphSession session_;
  std::array<th::Tensor, 2> results_;
};

template <class Model>
double microseconds(Model& model, const Batch& batch, int steps, float& sink) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) sink += model.step(batch);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / steps;
}

}  // namespace

int main() {
  Eigen::setNbThreads(1);
  const th::detail::ScopedDenormals flushed(th::detail::Denormals::Flush);  // the same arithmetic for all three
  float sink = 0;
  for (const std::int64_t size : {1, 32, 128}) {
    const Batch batch = random_batch(size);
    HandWritten hand(size);
    Ours ours(1);
    Ours with_two_threads(2);
    const int steps = size == 1 ? 300 : 40;
    std::vector<double> our_times;
    std::vector<double> times_of_two;
    std::vector<double> hand_times;
    const std::string name = "mlp_step_" + std::to_string(size);
    th::bench::TensorFlow tensorflow(name);
    for (int round = 0; round < 25; ++round) {  // by turns, so that whatever else the machine does meets both
      hand_times.push_back(microseconds(hand, batch, steps, sink));
      our_times.push_back(microseconds(ours, batch, steps, sink));
      times_of_two.push_back(microseconds(with_two_threads, batch, steps, sink));
      if (round % 2 == 0) tensorflow.measure();
    }
    th::bench::report({.name = name,
                       .ours = th::bench::median(our_times),
                       .peer = th::bench::median(hand_times),
                       .peer_name = "hand-written Eigen",
                       .unit = "us",
                       .goal = 1.0});
    tensorflow.report({.name = name + "_tensorflow", .ours = th::bench::median(our_times), .unit = "us", .goal = 1});
    th::bench::report({.name = name + "_two_threads",
                       .ours = th::bench::median(times_of_two),
                       .peer = th::bench::median(our_times),
                       .peer_name = "one thread",
                       .unit = "us",
                       .goal = 1.05});
  }
  return std::isfinite(sink) ? EXIT_SUCCESS : EXIT_FAILURE;
}
