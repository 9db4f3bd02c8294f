// SPDX-License-Identifier: Apache-2.0
// 11 Profiling. A hook writes a timeline of every 20th step, for ui.perfetto.dev and for TensorBoard's graph. A single
// run can be measured as well, and its figures be used in the program: here, how long the matrix products took.
//
//     build/examples/gallery/11_profiling [directory]

#include <cstdint>
#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <trainhook/engine.hpp>
#include <trainhook/engine/profiler_hook.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "profiling-run";

  th::Graph graph;
  graph.set_random_seed(1);
  const th::Output x = th::random_normal(graph, {32, 128});
  const th::Output hidden = th::relu(th::dense(x, 256, "hidden"));
  const th::Output loss = th::reduce_mean(
      th::square(th::dense(hidden, 1, "output") - th::reduce_sum(x, {.axis = {{1}}, .keep_dims = true})));
  const th::Operation train =
      th::AdamOptimizer({.learning_rate = 1e-3}).minimize(loss, th::get_or_create_global_step(graph));

  auto session = th::monitored_training_session<th::EigenSession>(
      graph, {.checkpoint_dir = directory,
              .save_checkpoint_steps = 20,
              .hooks = {th::StopAtStepHook({.last_step = 50}),
                        th::ProfilerHook({.save_steps = 20, .output_dir = directory})}});

  const th::RunOptions measured{.trace_level = th::TraceLevel::Full};
  th::RunMetadata figures;
  session.run(train, {}, &measured, &figures);  // the first step, measured by hand
  th::run_until_stop(session, train);

  std::int64_t multiplications = 0, micros = 0;
  for (const th::NodeStats& node : figures.node_stats) {
    if (node.op_type != "MatMul") continue;
    ++multiplications;
    micros += node.end_micros - node.start_micros;
  }
  fmt::print("{} of {} nodes multiply matrices\n", multiplications, figures.node_stats.size());
  fmt::print(stderr, "that took {} us\n", micros);  // another figure each time

  for (const std::string& name : th::posix_file_system().list_directory(directory))
    if (name.starts_with("timeline")) fmt::print("{}\n", name);
}
