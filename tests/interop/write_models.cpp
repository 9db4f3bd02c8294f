// SPDX-License-Identifier: Apache-2.0
/// @file
/// Six models, each as a MetaGraphDef with a checkpoint, what it was fed, what it gave, and its variables after 50
/// steps of training; and what each optimizer makes of one small model.

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/model/learning_rate_schedules.hpp>
#include <trainhook/compat/queue_runner.hpp>
#include <trainhook/trainhook.hpp>

namespace {

namespace th = trainhook;
using th::DType;
using th::Output;
using th::Shape;

template <class T>
th::Tensor random_tensor(const Shape& shape, double low, double high, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  th::Tensor tensor(th::dtype_of<T>, shape);
  for (T& element : tensor.overwrite_data<T>()) element = static_cast<T>(draw(random));
  return tensor;
}

/// A model while it is built: what it is fed, and what it gives.
struct Model {
  th::Graph graph{};
  std::vector<th::Feed> feeds{};
  std::vector<Output> outputs{};
  th::Operation train{};

  template <class T>
  Output in(const Shape& shape, double low, double high, std::string_view name) {
    std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims[0] = th::kUnknownDim;
    const Output x =
        th::placeholder(graph, th::dtype_of<T>, th::PartialShape(std::span<const std::int64_t>(dims)), name);
    feeds.push_back({x, random_tensor<T>(shape, low, high, feeds.size() + 1)});
    return x;
  }
  th::FeedDict feed_dict() const {
    th::FeedDict dict;
    for (const th::Feed& feed : feeds) dict.push_back(feed);
    return dict;
  }
};

Output class_loss(Model& model, Output logits, std::int64_t batch, std::int64_t classes) {
  const Output labels = model.in<std::int64_t>({batch}, 0, static_cast<double>(classes) - 0.01, "labels");
  return th::reduce_mean(th::sparse_softmax_cross_entropy_with_logits(labels, logits)).named("loss");
}

void linear(Model& model) {
  const Output x = model.in<float>({16, 5}, -1, 1, "x");
  const Output error = th::dense(x, 1, "out") - model.in<float>({16, 1}, -1, 1, "y");
  const Output loss = th::reduce_mean(th::square(error)).named("loss");
  model.outputs = {error, loss};
  model.train =
      th::GradientDescentOptimizer({.learning_rate = 0.1}).minimize(loss, th::get_or_create_global_step(model.graph));
}

void layers(Model& model) {
  Output h = model.in<float>({16, 8}, -1, 1, "x");
  for (const auto& [name, activate] : {std::pair<const char*, Output (*)(Output, std::string_view)>{"a", th::tanh},
                                       {"b", th::elu},
                                       {"c", th::softplus},
                                       {"d", th::sigmoid}}) {
    h = activate(th::dense(h, 12, name), {});
  }
  const Output logits = th::dense(h, 4, "logits");
  const Output loss = class_loss(model, logits, 16, 4);
  model.outputs = {th::softmax(logits), th::log_softmax(logits), th::argmax(logits, 1), loss};
  model.train = th::AdamOptimizer({.learning_rate = 0.01}).minimize(loss, th::get_or_create_global_step(model.graph));
}

void embedding(Model& model) {
  const Output ids = model.in<std::int32_t>({16, 3}, 0, 19.9, "ids");
  const th::Variable table = th::make_variable("table", th::random_uniform(model.graph, {20, 6}));
  const Output words = th::embedding_lookup(table, ids);
  const Output logits = th::dense(th::reduce_sum(words, {.axis = {{1}}}), 5, "logits");
  const Output loss = class_loss(model, logits, 16, 5);
  model.outputs = {words, logits, loss};
  model.train = th::AdagradOptimizer({.learning_rate = 0.1}).minimize(loss, th::get_or_create_global_step(model.graph));
}

void convolution(Model& model) {
  const Output x = model.in<float>({4, 12, 10, 2}, 0, 1, "image");
  const th::Variable first =
      th::make_variable("first", th::truncated_normal(model.graph, {5, 3, 2, 4}, {.stddev = 0.2}));
  const th::Variable second =
      th::make_variable("second", th::truncated_normal(model.graph, {3, 3, 4, 6}, {.stddev = 0.2}));
  const Output small = th::max_pool(th::relu(th::conv2d(x, first)));
  const Output smaller =
      th::avg_pool(th::leaky_relu(th::conv2d(small, second, {.strides = {2, 1}})), {.padding = th::Padding::Same});
  const Output logits = th::dense(th::reshape(smaller, {-1, 2 * 3 * 6}), 3, "logits");
  const Output loss = class_loss(model, logits, 4, 3);
  model.outputs = {smaller, logits, loss};
  model.train = th::MomentumOptimizer({.learning_rate = 0.05, .momentum = 0.9, .use_nesterov = true})
                    .minimize(loss, th::get_or_create_global_step(model.graph));
}

void normalized(Model& model) {
  const Output x = model.in<double>({10, 6}, -2, 5, "x");
  const Output mean = th::reduce_mean(x, {.axis = {{0}}, .keep_dims = true});
  const Output deviation = th::reduce_mean(th::squared_difference(x, mean), {.axis = {{0}}, .keep_dims = true});
  const Output scaled = (x - mean) * th::rsqrt(deviation + 1e-3);
  const Output rows = th::concat({scaled, th::clip_by_value(x, th::zeros(model.graph, {}, DType::Double),
                                                            th::ones(model.graph, {}, DType::Double))},
                                 1);
  const th::Variable weights =
      th::make_variable("weights", th::random_normal(model.graph, {12, 1}, {.dtype = DType::Double}));
  const Output score = th::squeeze(th::matmul(rows, weights), {1});
  const Output loss =
      th::reduce_mean(th::sigmoid_cross_entropy_with_logits(model.in<double>({10}, 0, 1, "labels"), score))
          .named("loss");
  model.outputs = {rows, score, loss, th::reduce_max(score),
                   th::where(th::greater(score, th::zeros_like(score)), score, th::zeros_like(score))};
  model.train = th::RMSPropOptimizer({.learning_rate = 0.01, .momentum = 0.5})
                    .minimize(loss, th::get_or_create_global_step(model.graph));
}

/// Its means and variances move with each step; test_imported_models.py has the same layers of TensorFlow.
void batch_normalized(Model& model) {
  const Output x = model.in<float>({6, 5, 4, 3}, -2, 3, "image");
  const Output images = th::batch_normalization(x, "images", {.momentum = 0.8, .training = true});
  const Output flat = th::flatten(th::relu(images));
  const Output rows = th::batch_normalization(th::dense(flat, 4, "dense"), "rows", {.momentum = 0.6, .training = true});
  const Output loss = th::reduce_mean(th::square(rows - 0.5), {}, "loss");
  model.outputs = {images, rows, loss};
  const th::Graph::Scope after = model.graph.control_dependencies(th::update_ops(model.graph));
  model.train =
      th::GradientDescentOptimizer({.learning_rate = 0.1}).minimize(loss, th::get_or_create_global_step(model.graph));
}

void averaged(Model& model) {
  const Output x = model.in<float>({8, 4}, -1, 1, "x");
  const th::Variable step = th::get_or_create_global_step(model.graph);
  const Output hidden = th::dense(x, 6, "hidden");
  const Output loss = (th::reduce_mean(th::abs(hidden)) + th::l2_loss(hidden) * 0.01).named("loss");
  const Output rate = th::exponential_decay(0.1, step, {.decay_steps = 2, .decay_rate = 0.5});
  const std::vector<th::Variable> variables = th::trainable_variables(model.graph);
  std::vector<Output> values(variables.begin(), variables.end());
  const th::ClippedByNorm clipped = th::clip_by_global_norm(th::gradients(loss, values), 0.3);
  std::vector<th::Operation> updates;
  for (std::size_t i = 0; i < variables.size(); ++i)
    updates.push_back(th::assign_sub(variables[i], clipped.tensors[i] * rate).operation());
  const th::Graph::Scope after = model.graph.control_dependencies(updates);  // the rate is that of the old step
  updates.push_back(th::increment(step).operation());
  model.outputs = {hidden, loss, clipped.norm, rate};
  model.train = th::group(model.graph, updates, "train");
}

void write(const std::string& directory, const std::string& name, void (*build)(Model&)) {
  th::FileSystem& disk = th::posix_file_system();
  Model model;
  build(model);
  const th::Operation init = th::global_variables_initializer(model.graph);
  model.graph.add_to_collection("train", model.train);
  for (const Output& output : model.outputs) model.graph.add_to_collection("outputs", output);
  const std::string prefix = th::join_path(directory, name);
  th::EigenSession session(model.graph);
  session.run(init);
  th::Saver().save(session, {.save_path = prefix + "-model", .write_state = false});
  th::write_file_atomically(disk, prefix + ".meta", th::export_meta_graph(model.graph));
  th::write_file_atomically(disk, prefix + ".meta.txt", th::export_meta_graph_text(model.graph));
  th::BundleWriter feeds(prefix + "-feeds");
  for (const th::Feed& feed : model.feeds) feeds.add(feed.key.name(), feed.value);
  feeds.finish();
  th::BundleWriter results(prefix + "-results");
  for (const Output& output : model.outputs) results.add(output.name(), session.run(output, model.feed_dict()));
  for (int step = 0; step < 50; ++step) session.run(model.train, model.feed_dict());
  for (const th::Variable& variable : th::global_variables(model.graph)) {
    results.add("trained/" + variable.name(), session.run(variable.read));
  }
  results.finish();
}

/// Small numbers, exact in binary, that test_optimizers.py has too.
th::Tensor numbers(DType dtype, const Shape& shape, int step, double scale) {
  th::Tensor tensor(dtype, shape);
  const auto fill = [&]<class T>(std::span<T> elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = static_cast<T>(static_cast<double>((static_cast<int>(i) * 7 + step * 3) % 11 - 5) * scale);
    }
  };
  if (dtype == DType::Float) {
    fill(tensor.overwrite_data<float>());
  } else {
    fill(tensor.overwrite_data<double>());
  }
  return tensor;
}

/// Trains a matrix and a bias, and keeps all variables after the first step and after the last.
void write_optimizer(th::BundleWriter& results, const std::string& name, DType dtype, th::Optimizer& optimizer) {
  th::Graph graph;
  const th::Variable step = th::get_or_create_global_step(graph);
  const Output x = th::placeholder(graph, dtype, {4, 5});
  const Output y = th::placeholder(graph, dtype, {4, 3});
  const th::Variable w = th::make_variable("w", th::constant(graph, numbers(dtype, {5, 3}, 1, 0.125)));
  const th::Variable b = th::make_variable("b", th::constant(graph, numbers(dtype, {3}, 2, 0.25)));
  const Output loss = th::reduce_mean(th::square(th::bias_add(th::matmul(x, w), b) - y));
  const th::Operation train = optimizer.minimize(loss, step);
  const th::Operation init = th::global_variables_initializer(graph);
  th::EigenSession session(graph);
  session.run(init);
  for (int i = 1; i <= 50; ++i) {
    session.run(train, {{x, numbers(dtype, {4, 5}, i, 0.25)}, {y, numbers(dtype, {4, 3}, 2 * i, 0.5)}});
    if (i != 1 && i != 50) continue;
    for (const th::Variable& variable : th::global_variables(graph)) {
      results.add(fmt::format("{}.{}/{}/{}", name, th::dtype_name(dtype), i, variable.name()),
                  session.run(variable.read));
    }
  }
}

void write_optimizers(const std::string& directory) {
  th::BundleWriter results(th::join_path(directory, "optimizers"));
  for (const DType dtype : {DType::Float, DType::Double}) {
    const auto write_one = [&](const std::string& name, auto optimizer) {
      write_optimizer(results, name, dtype, optimizer);
    };
    write_one("GradientDescent", th::GradientDescentOptimizer({.learning_rate = 0.05}));
    write_one("Momentum", th::MomentumOptimizer({.learning_rate = 0.02, .momentum = 0.9}));
    write_one("Nesterov", th::MomentumOptimizer({.learning_rate = 0.02, .momentum = 0.9, .use_nesterov = true}));
    write_one("Adagrad", th::AdagradOptimizer({.learning_rate = 0.1}));
    write_one("RMSProp", th::RMSPropOptimizer({.learning_rate = 0.01}));
    write_one("RMSPropMomentum",
              th::RMSPropOptimizer({.learning_rate = 0.01, .decay = 0.8, .momentum = 0.5, .epsilon = 1e-3}));
    write_one("CenteredRMSProp", th::RMSPropOptimizer({.learning_rate = 0.01, .momentum = 0.3, .centered = true}));
    write_one("Adam", th::AdamOptimizer({.learning_rate = 0.02}));
    write_one("AdamTuned", th::AdamOptimizer({.learning_rate = 0.02, .beta1 = 0.7, .beta2 = 0.95, .epsilon = 1e-2}));
  }
  results.finish();
}

/// Batches of the numbers 1, 2, 3, ..., which a queue runner counts.
void write_queue(const std::string& directory) {
  th::Graph graph;
  const th::Variable counter = th::make_variable("counter", th::zeros(graph, {}, DType::Int64), {.trainable = false});
  const th::FIFOQueue queue(graph, 7, {DType::Int64}, {Shape{}});
  th::add_queue_runner(queue, {queue.enqueue({th::assign_add(counter, 1) + 0})});
  graph.add_to_collection("outputs", queue.dequeue_many(3)[0]);
  th::write_file_atomically(th::posix_file_system(), th::join_path(directory, "queue.meta"),
                            th::export_meta_graph(graph));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw th::InvalidArgumentError("usage: write_models <directory>");
    th::posix_file_system().make_directories(argv[1]);
    for (const auto& [name, build] :
         std::array<std::pair<const char*, void (*)(Model&)>, 7>{{{"linear", linear},
                                                                  {"batch_normalized", batch_normalized},
                                                                  {"layers", layers},
                                                                  {"embedding", embedding},
                                                                  {"convolution", convolution},
                                                                  {"normalized", normalized},
                                                                  {"averaged", averaged}}}) {
      write(argv[1], name, build);
    }
    write_optimizers(argv[1]);
    write_queue(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_models: {}\n", error.what());
    return 1;
  }
}
