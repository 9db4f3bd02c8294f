// SPDX-License-Identifier: Apache-2.0
/// @file
/// Prints what each streaming metric says of three batches, update and value, for test_metrics.py: one line each,
/// `name: number number ...`. Labels, predictions and weights come from a raw file of float32, as test_metrics.py
/// wrote it: for each batch all labels, then all predictions, then all weights.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <trainhook/engine.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/model/metrics.hpp>
#include <trainhook/model/ops.hpp>

namespace {

namespace th = trainhook;
namespace metrics = trainhook::metrics;

struct Named {
  std::string name;
  th::StreamingMetric metric;
};

struct Inputs {
  th::Output labels;
  th::Output predictions;
  th::Output weights;
};

std::vector<Named> all_metrics(const Inputs& in, bool weighted) {
  const th::Output weights = weighted ? in.weights : th::Output();
  const th::Output label_class = th::cast(in.labels, th::DType::Int64);
  const th::Output predicted = th::cast(in.predictions * 3, th::DType::Int64);
  const th::Output hit = th::greater(in.predictions, 0.5);
  const th::Output positive = th::greater(in.labels, 0);
  const metrics::AucOptions coarse{.num_thresholds = 20, .curve = metrics::Curve::PrecisionRecall};
  return {{"mean", metrics::mean(in.predictions, weights)},
          {"accuracy", metrics::accuracy(label_class, predicted, weights)},
          {"mean_absolute_error", metrics::mean_absolute_error(in.labels, in.predictions, weights)},
          {"mean_squared_error", metrics::mean_squared_error(in.labels, in.predictions, weights)},
          {"root_mean_squared_error", metrics::root_mean_squared_error(in.labels, in.predictions, weights)},
          {"true_positives", metrics::true_positives(positive, hit, weights)},
          {"true_negatives", metrics::true_negatives(positive, hit, weights)},
          {"false_positives", metrics::false_positives(positive, hit, weights)},
          {"false_negatives", metrics::false_negatives(positive, hit, weights)},
          {"precision", metrics::precision(positive, hit, weights)},
          {"recall", metrics::recall(positive, hit, weights)},
          {"auc", metrics::auc(positive, in.predictions, weights)},
          {"auc_pr", metrics::auc(positive, in.predictions, weights, coarse)},
          {"confusion_matrix", metrics::confusion_matrix(label_class, predicted, 3, weights)}};
}

void print(const std::string& name, const th::Tensor& value) {
  fmt::print("{}:", name);
  if (value.dtype() == th::DType::Double) {
    for (const double number : value.data<double>()) fmt::print(" {}", number);
  } else {
    for (const float number : value.data<float>()) fmt::print(" {}", number);
  }
  fmt::print("\n");
}

void run(const std::string& path, std::size_t size, bool weighted) {
  const std::string bytes = th::read_file(th::posix_file_system(), path);
  th::Graph graph;
  const th::PartialShape shape{static_cast<std::int64_t>(size)};
  const Inputs in{th::placeholder(graph, th::DType::Float, shape), th::placeholder(graph, th::DType::Float, shape),
                  th::placeholder(graph, th::DType::Float, shape)};
  const std::vector<Named> all = all_metrics(in, weighted);
  const th::Operation init = th::local_variables_initializer(graph);
  th::EigenSession session(graph);
  session.run(init);
  std::size_t at = 0;
  const auto next = [&] {
    std::vector<float> values(size);
    std::memcpy(values.data(), bytes.data() + at, size * sizeof(float));
    at += size * sizeof(float);
    return th::Tensor::copy_of<float>(values, th::Shape{static_cast<std::int64_t>(size)});
  };
  for (const Named& of : all) print("before/" + of.name, session.run(of.metric.value));
  for (int batch = 0; at < bytes.size(); ++batch) {
    const th::FeedDict feeds{{in.labels, next()}, {in.predictions, next()}, {in.weights, next()}};
    for (const Named& of : all) {
      print(fmt::format("{}/{}/update", batch, of.name), session.run(of.metric.update, feeds));
      print(fmt::format("{}/{}/value", batch, of.name), session.run(of.metric.value));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) {
      fmt::print(stderr, "usage: write_metrics <file> <batch size> <weighted: 0 or 1>\n");
      return 1;
    }
    run(argv[1], std::stoul(argv[2]), std::string(argv[3]) == "1");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_metrics: {}\n", error.what());
    return 1;
  }
}
