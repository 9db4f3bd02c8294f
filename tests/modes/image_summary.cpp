// SPDX-License-Identifier: Apache-2.0
/// @file
/// Prints what an engine without libpng and zlib says of an image summary; it has other summaries.
#include <fmt/core.h>
#include <trainhook/engine.hpp>
#include <trainhook/events/summary.hpp>

namespace th = trainhook;

int main() {
  th::Graph graph;
  const th::Output scalar = th::summary::scalar("loss", th::constant(graph, 0.5F));
  const th::Tensor pixels(th::DType::Float, {1, 2, 2, 1});
  const th::Output image = th::summary::image("image", th::constant(graph, pixels));
  th::EigenSession session(graph);
  if (session.run(scalar).data<std::string>()[0] != th::scalar_summary("loss", 0.5F)) return 1;
  try {
    session.run(image);
  } catch (const th::UnimplementedError& error) {
    fmt::print("{}\n", error.what());
    return 0;
  }
  return 1;
}
