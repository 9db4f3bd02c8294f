// SPDX-License-Identifier: Apache-2.0
/// @file
/// Measures runs of graphs for tests/bench/kernel_table.py. Each line of standard input is a GraphDef's file, the
/// operation that gives its variables values, and the one to measure; or nothing, to measure the last one again. Each
/// line of the answer is the time of a run in microseconds, or the error.
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/trainhook.hpp>

#include "record.hpp"

namespace {

namespace th = trainhook;

class Model {
 public:
  Model(const std::string& file, const std::string& init, const std::string& measured) {
    th::import_graph_def(graph_, th::read_graph_def(th::posix_file_system(), file), {.name = ""});
    session_ = std::make_unique<th::EigenSession>(
        graph_, th::GraphSessionOptions{.kernels = th::compat::kernels(), .num_threads = 1});
    session_->run(graph_.operation(init));
    measured_ = graph_.operation(measured);
    for (int i = 0; i < 3; ++i) session_->run(measured_);
  }

  [[nodiscard]] double microseconds() {
    return th::bench::seconds([&] { session_->run(measured_); }) * 1e6;
  }

 private:
  th::Graph graph_;
  std::unique_ptr<th::EigenSession> session_;
  th::Operation measured_;
};

}  // namespace

int main() {
  std::unique_ptr<Model> model;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      if (!line.empty()) {
        std::istringstream words(line);
        std::string file, init, measured;
        words >> file >> init >> measured;
        model.reset();
        model = std::make_unique<Model>(file, init, measured);
      }
      std::cout << model->microseconds() << std::endl;
    } catch (const std::exception& error) {
      std::string text = error.what();
      std::cout << "error: " << text.substr(0, text.find('\n')) << std::endl;
    }
  }
}
