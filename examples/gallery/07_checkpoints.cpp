// SPDX-License-Identifier: Apache-2.0
// 07 Checkpoints and warm start. A Saver writes what a session holds, any program can look into the file, and another
// model begins with a part of it: the encoder is restored under its name, the new head keeps its initial values.
//
//     build/examples/gallery/07_checkpoints [directory]

#include <memory>
#include <string>

#include <fmt/core.h>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

/// An encoder of two units with one head; the initial values differ from model to model.
th::Output build_model(th::Graph& graph, const std::string& head, double start) {
  const th::DenseOptions options{.kernel_initializer = th::constant_initializer(start)};
  const th::Output x = th::placeholder_with_default(th::constant(graph, th::Tensor::of<float>({1, 2, 3}, {1, 3})),
                                                    {th::kUnknownDim, 3}, "x");
  return th::dense(th::dense(x, 2, "encoder", options), 1, head, options);
}

void save_first_model(const std::string& directory) {
  th::Graph graph;
  build_model(graph, "digits", 0.5);
  const th::Operation init = th::global_variables_initializer(graph);

  th::EigenSession session(graph);  // the engine alone, without hooks
  session.run(init);
  th::Saver saver;
  const std::string prefix = saver.save(session, {.save_path = directory + "/model.ckpt", .global_step = 7});
  fmt::print("saved {}\n", prefix);
}

void start_second_model(const std::string& directory, const std::string& pretrained) {
  th::Graph graph;
  const th::Output letters = build_model(graph, "letters", 0.1);
  th::get_or_create_global_step(graph);

  // Called if the model has no checkpoint of its own; after a restart that one is restored instead.
  th::Saver encoder({.var_list = {"encoder/kernel", "encoder/bias"}});
  const auto scaffold =
      std::make_shared<th::Scaffold>(th::ScaffoldOptions{.init_fn = [&](const th::Scaffold&, th::SessionRef session) {
        encoder.restore(session, th::latest_checkpoint(pretrained).value());
      }});
  auto session =
      th::monitored_training_session<th::EigenSession>(graph, {.checkpoint_dir = directory, .scaffold = scaffold});
  fmt::print("letters: {}\n", session.run(letters));
  session.close();
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "checkpoints-run";
  save_first_model(directory + "/digits");
  for (const th::NamedShape& variable : th::list_variables(directory + "/digits"))
    fmt::print("  {} {}\n", variable.name, variable.shape);
  const th::Tensor kernel = th::load_variable(directory + "/digits", "encoder/kernel");
  fmt::print("encoder/kernel: {}\n", kernel);
  start_second_model(directory + "/letters", directory + "/digits");
}
