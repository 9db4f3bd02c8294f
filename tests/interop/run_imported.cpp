// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runs a MetaGraphDef of anybody from a checkpoint of anybody, and writes what it gives.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/compat/singular_monitored_session.hpp>
#include <trainhook/trainhook.hpp>

namespace {

namespace th = trainhook;

std::vector<th::Tensor> monitored(th::Graph& graph, const std::vector<std::string>& names, std::int64_t runs) {
  std::vector<th::Fetch> fetches;
  for (const std::string& name : names) fetches.emplace_back(graph.output(name));
  th::SingularMonitoredSession<th::EigenSession> session(graph, {},
                                                         th::GraphSessionOptions{.kernels = th::compat::kernels()});
  std::vector<th::Tensor> values;
  for (std::int64_t run = 0; run < runs; ++run) values = session.run(fetches);
  session.close();
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  std::string meta;
  std::string restore;
  std::string feeds;
  std::string results;
  std::string save;
  std::string train;
  std::int64_t steps = 0;
  std::int64_t runs = 0;
  std::vector<std::string> fetches;
  CLI::App app("Restores a model, trains it where asked to, and writes the values of outputs.");
  app.add_option("--meta", meta, "the MetaGraphDef or saved_model.pb, as bytes or, where its name ends in txt, as text")
      ->required();
  app.add_option("--restore", restore, "prefix of the checkpoint; without it the variables are initialized");
  app.add_option("--feeds", feeds, "prefix of a bundle that holds, under the names of placeholders, what they are fed");
  app.add_option("--train", train, "operation to run first");
  app.add_option("--steps", steps, "how often");
  app.add_option("--runs", runs,
                 "fetch so often, in a monitored session, which starts the queue runners; writes the last values");
  app.add_option("--save", save, "prefix of the checkpoint to write at the end");
  app.add_option("--results", results, "prefix of the bundle to write, under the names of the outputs")->required();
  app.add_option("fetches", fetches, "outputs, such as loss:0")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    th::FileSystem& disk = th::posix_file_system();
    th::Graph graph;
    th::import_meta_graph(graph, th::read_meta_graph(disk, meta));
    if (runs > 0) {
      const std::vector<th::Tensor> last = monitored(graph, fetches, runs);
      th::BundleWriter writer(results);
      for (std::size_t i = 0; i < fetches.size(); ++i) writer.add(fetches[i], last[i]);
      writer.finish();
      return 0;
    }
    const th::Operation init = th::global_variables_initializer(graph);
    th::EigenSession session(graph, {.kernels = th::compat::kernels()});
    if (restore.empty()) {
      session.run(init);
    } else {
      th::Saver().restore(session, restore);
    }
    th::FeedDict given;
    if (!feeds.empty()) {
      const th::CheckpointReader reader(feeds);
      for (const th::Node& node : graph.nodes()) {
        const std::string name = node.name() + ":0";
        if (reader.has_tensor(name)) given.push_back({graph.output(name), reader.get_tensor(name)});
      }
    }
    for (std::int64_t step = 0; step < steps; ++step) session.run(graph.operation(train), given);
    th::BundleWriter writer(results);
    for (const std::string& fetch : fetches) writer.add(fetch, session.run(graph.output(fetch), given));
    writer.finish();
    if (!save.empty())
      th::Saver().save(session, {.save_path = save, .write_state = false, .parts = {th::meta_graph_file(graph)}});
  } catch (const std::exception& error) {
    fmt::print(stderr, "run_imported: {}\n", error.what());
    return 1;
  }
}
