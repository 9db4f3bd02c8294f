// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runs the models of tutorials/ that TensorFlow wrote: each frozen graph once, each training graph for some steps.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/trainhook.hpp>

namespace {

namespace th = trainhook;

/// A line of the list of models, without its first two words, which are the part and the name of the model.
struct Line {
  std::string part;
  std::string model;
  std::vector<std::string> words{};
};

std::vector<Line> read_list(const std::string& path) {
  std::vector<Line> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    Line line;
    words >> line.part >> line.model;
    for (std::string word; words >> word;) line.words.push_back(word);
    lines.push_back(std::move(line));
  }
  return lines;
}

class Tutorials {
 public:
  explicit Tutorials(const std::string& folder)
      : folder_(folder),
        lines_(read_list(folder + "/models.txt")),
        feeds_(folder + "/feeds"),
        results_(folder + "/results") {}

  void run() {
    for (const Line& line : lines_) {
      if (line.part != "frozen" && line.part != "train") continue;
      prefix_ = fmt::format("{}/{}", line.model, line.part);
      try {
        if (line.part == "frozen")
          run_frozen(line);
        else
          train(line);
      } catch (const std::exception& error) { results_.add(prefix_ + "/error", th::Tensor(std::string(error.what()))); }
    }
    results_.finish();
  }

 private:
  [[nodiscard]] const std::vector<std::string>& words(const std::string& part, const std::string& model) const {
    static const std::vector<std::string> kNone;
    for (const Line& line : lines_) {
      if (line.part == part && line.model == model) return line.words;
    }
    return kNone;
  }

  [[nodiscard]] th::FeedDict feeds(const th::Graph& graph, const std::string& model, std::int64_t step) const {
    th::FeedDict given;
    for (const std::string& name : words("feeds", model)) {
      if (!graph.find_operation(name.substr(0, name.find(':'))).has_value()) continue;  // frozen graphs have less
      given.push_back({graph.output(name), feeds_.get_tensor(fmt::format("{}/{}/{}", model, step, name))});
    }
    return given;
  }

  void run_frozen(const Line& line) {
    th::Graph graph;
    th::import_graph_def(
        graph, th::read_graph_def(th::posix_file_system(), fmt::format("{}/{}.pb", folder_, line.model)), {.name = ""});
    th::EigenSession session(graph, {.kernels = th::compat::kernels()});
    const th::FeedDict given = feeds(graph, line.model, 0);
    for (const std::string& operation : words("setup", line.model)) {
      if (graph.find_operation(operation).has_value()) session.run(graph.operation(operation));
    }
    std::vector<th::Tensor> values;
    for (const std::string& output : line.words) values.push_back(session.run(graph.output(output), given));
    for (std::size_t i = 0; i < values.size(); ++i)
      results_.add(fmt::format("{}/{}", prefix_, line.words[i]), values[i]);
  }

  /// Each step fetches the losses, and then runs the operations one after the other.
  void train(const Line& line) {
    th::Graph graph;
    th::import_meta_graph(graph,
                          th::read_meta_graph(th::posix_file_system(), fmt::format("{}/{}.meta", folder_, line.model)));
    th::EigenSession session(graph, {.kernels = th::compat::kernels()});
    th::Saver().restore(session, fmt::format("{}/{}", folder_, line.model));
    for (const std::string& operation : words("setup", line.model)) session.run(graph.operation(operation));
    std::vector<th::NamedTensor> values;
    for (std::int64_t step = 0; step < 5; ++step) {
      const th::FeedDict given = feeds(graph, line.model, step);
      for (const std::string& loss : words("losses", line.model))
        values.push_back({fmt::format("{}/{}", step, loss), session.run(graph.output(loss), given)});
      for (const std::string& operation : line.words) session.run(graph.operation(operation), given);
    }
    for (const th::Variable& variable : th::global_variables(graph))
      values.push_back({variable.name(), session.run(variable)});
    for (const auto& [name, value] : values) results_.add(fmt::format("{}/{}", prefix_, name), value);
  }

  std::string folder_;
  std::vector<Line> lines_;
  th::CheckpointReader feeds_;
  th::BundleWriter results_;
  std::string prefix_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  CLI::App app("Reads models.txt and what it names, writes the bundle `results`.");
  app.add_option("folder", folder, "where TensorFlow wrote the models")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    Tutorials(folder).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "run_tutorials: {}\n", error.what());
    return 1;
  }
}
