// SPDX-License-Identifier: Apache-2.0
/// @file
/// What grows with the number of variables or nodes: starting a session of many small variables, saving and restoring
/// them, and the first run of a wide graph. Each at 5,000, 20,000 and 100,000, with caches that hold none of it, as
/// after a training step: otherwise 5,000 would fit them and 20,000 would not, and the growth would be theirs. And what
/// grows with the size of a constant: the memory that the export of its graph takes. The regions of a tensor that ranks
/// restore are 400 and 1,600.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <allocations.hpp>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "folder.hpp"
#include "record.hpp"

namespace th = trainhook;

namespace {

constexpr std::array kCounts{5'000, 20'000, 100'000};

/// Reports milliseconds at each count, of which the last may take `budget` and fewer as much less, and by which factor
/// the time grows at most if the count doubles. `millis(count)` measures once.
template <class Millis, std::size_t kNumber = kCounts.size()>
void report(const std::string& name, Millis millis, double budget = 300,
            const std::array<int, kNumber>& counts = kCounts) {
  std::array<double, kNumber> medians{};
  for (std::size_t i = 0; i < kNumber; ++i) {
    std::vector<double> figures;
    for (int round = 0; round < 5; ++round) figures.push_back(millis(counts[i]));
    medians[i] = th::bench::median(figures);
    const bool is_round = counts[i] % 1000 == 0;
    th::bench::report(
        {.name = name + "_" + std::to_string(is_round ? counts[i] / 1000 : counts[i]) + (is_round ? "k" : ""),
         .ours = medians[i],
         .peer = budget * counts[i] / counts.back(),
         .peer_name = "budget",
         .unit = "ms",
         .goal = 1});
  }
  double growth = 0;
  for (std::size_t i = 1; i < kNumber; ++i) {
    const double doublings = std::log2(static_cast<double>(counts[i]) / counts[i - 1]);
    growth = std::max(growth, std::pow(medians[i] / medians[i - 1], 1 / doublings));
  }
  th::bench::report({.name = name + "_growth",
                     .ours = growth,
                     .peer = 1,
                     .peer_name = "constant",
                     .unit = "x at twice",
                     .goal = 2.3});
}

std::string name_of(int i) { return "model/layer" + std::to_string(100'000 + i) + "/kernel"; }

/// Reads and writes more memory than the caches of a processor hold.
void empty_caches() {
  constexpr std::size_t kLine = 64;
  static std::vector<unsigned char> memory(std::size_t{256} << 20);
  for (std::size_t i = 0; i < memory.size(); i += kLine) ++memory[i];
}

template <class Work>
double millis(Work&& work) {
  empty_caches();
  return 1e3 * th::bench::seconds(std::forward<Work>(work));
}

/// A loop with that many variables of 8 numbers, and a saver whose files are in memory.
struct Loop {
  explicit Loop(int count) : values(static_cast<std::size_t>(count), {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (int i = 0; i < count; ++i) session.variable(name_of(i), values[static_cast<std::size_t>(i)]);
  }

  std::vector<std::array<float, 8>> values;
  th::testing::MemoryFileSystem files;
  th::LoopSession session;
  th::Saver saver{{.file_system = &files}};
};

double loop_save(int count) {
  Loop loop(count);
  return millis([&] { loop.saver.save(loop.session, {.save_path = "run/model.ckpt"}); });
}

double loop_restore(int count) {
  Loop loop(count);
  loop.saver.save(loop.session, {.save_path = "run/model.ckpt"});
  return millis([&] { loop.saver.restore(loop.session, "run/model.ckpt"); });
}

/// A tensor that was saved in that many blocks of rows is read in as many others, each of which meets two of them.
double restore_regions(int count) {
  constexpr std::int64_t kRows = 4;
  const th::Shape full({kRows * (count + 1), 8});
  const auto region = [](std::int64_t first, std::int64_t rows) {
    return th::TensorSlice({{.start = first, .length = rows}, {.start = 0, .length = 8}});
  };
  th::testing::MemoryFileSystem files;
  th::BundleWriter writer("run/model.ckpt", {.file_system = &files});
  for (std::int64_t i = 0; i <= count; ++i)
    writer.add_slice("field", full, region(i * kRows, kRows), th::Tensor(th::DType::Float, th::Shape({kRows, 8})));
  writer.finish();
  return millis([&] {
    const th::BundleReader reader("run/model.ckpt", {.file_system = &files});
    for (std::int64_t i = 0; i < count; ++i)
      static_cast<void>(reader.get_tensor("field", region(i * kRows + kRows / 2, kRows)));
  });
}

/// Until the first step: `graph.pbtxt`, the graph's events and the first checkpoint are written.
double loop_start(int count) {
  Loop loop(count);
  return millis([&] {
    const auto session =
        th::monitored_training_session(loop.session, {.checkpoint_dir = "run", .file_system = &loop.files});
  });
}

double graph_restore(int count) {
  Loop loop(count);
  loop.saver.save(loop.session, {.save_path = "run/model.ckpt"});
  th::Graph graph;
  const th::Output zeros = th::zeros(graph, {8});
  for (int i = 0; i < count; ++i) th::make_variable(name_of(i), zeros);
  th::EigenSession session(graph);
  return millis([&] { loop.saver.restore(session, "run/model.ckpt"); });
}

/// The sum of any number of values; a node takes at most 65,535.
th::Output sum_of(const std::vector<th::Output>& values) {
  constexpr std::size_t kAtOnce = 1'000;
  std::vector<th::Output> sums;
  for (std::size_t i = 0; i < values.size(); i += kAtOnce) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(i);
    sums.push_back(th::add_n({first, first + static_cast<std::ptrdiff_t>(std::min(kAtOnce, values.size() - i))}));
  }
  return th::add_n(sums);
}

/// A variable, that many nodes that take its value, their sum, and an update of the variable.
double plan_wide(int count) {
  th::Graph graph;
  const th::Variable x = th::make_variable("x", th::constant(graph, th::Tensor(1.0F)));
  std::vector<th::Output> layer;
  for (int i = 0; i < count; ++i) layer.push_back(th::negative(x));
  const th::Output update = th::assign_add(x, sum_of(layer));
  th::EigenSession session(graph);
  session.run(x.initializer);
  return millis([&] { session.run(update); });
}

/// That many nodes: variables, which are four each, initialized, then each of them updated.
double plan_wide_variables(int count) {
  th::Graph graph;
  const th::Output zero = th::constant(graph, th::Tensor(0.0F));
  std::vector<th::Output> values;
  std::vector<th::Variable> variables;
  std::vector<th::Operation> initializers, updates;
  for (int i = 0; i < count / 4; ++i) {
    variables.push_back(th::make_variable(name_of(i), zero));
    values.push_back(variables.back());
    initializers.push_back(variables.back().initializer);
  }
  const th::Output sum = sum_of(values);
  for (const th::Variable& variable : variables) updates.push_back(th::assign_add(variable, sum).operation());
  const th::Operation initialize = th::group(graph, initializers);
  const th::Operation update = th::group(graph, updates);
  th::EigenSession session(graph);
  return millis([&] {
    session.run(initialize);
    session.run(update);
  });
}

/// The memory that `work` allocates, beside the size of the constant in the graph.
template <class Work>
void report_export(const std::string& name, std::size_t size, Work&& work) {
  constexpr double kMega = 1e6;
  const th::support::AllocationCount count;
  std::forward<Work>(work)();
  th::bench::report({.name = name,
                     .ours = static_cast<double>(count.bytes()) / kMega,
                     .peer = static_cast<double>(size) / kMega,
                     .peer_name = "the constant",
                     .unit = "MB allocated",
                     .goal = 1.1});
}

/// A graph with a constant of 100 MB as bytes, and as files.
void export_constant() {
  constexpr std::size_t kElements = 25'000'000;
  th::Graph graph;
  th::Tensor value = th::Tensor::uninitialized(th::DType::Int32, th::Shape{kElements});
  std::ranges::generate(value.mutable_data<std::int32_t>(), [next = 0]() mutable { return next++; });
  const std::size_t size = value.byte_size();
  th::constant(graph, value, "large");
  report_export("export_constant", size, [&] { static_cast<void>(th::as_graph_def(graph)); });
  report_export("export_constant_meta_graph", size, [&] { static_cast<void>(th::export_meta_graph(graph)); });
  const th::bench::Folder folder("constant");
  report_export("export_constant_text_file", size,
                [&] { static_cast<void>(th::write_graph(th::posix_file_system(), graph, folder.file(""))); });
}

}  // namespace

int main() {
  export_constant();
  report("loop_start_many", loop_start, 5000);
  report("loop_save_many", loop_save);
  report("loop_restore_many", loop_restore);
  report("restore_regions", restore_regions, 20, std::array{400, 1'600});
  report("graph_restore_many", graph_restore);
  report("plan_wide", plan_wide);
  report("plan_wide_variables", plan_wide_variables);
}
