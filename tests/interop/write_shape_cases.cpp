// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes a line for each case of shape_cases.hpp: its GraphDef, and its static shapes here or that it is refused.
#include <cstddef>
#include <exception>
#include <string>

#include <fmt/format.h>

#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>

#include "../compat/shape_cases.hpp"

namespace th = trainhook;

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw th::InvalidArgumentError("usage: write_shape_cases <directory>");
    th::FileSystem& disk = th::posix_file_system();
    disk.make_directories(argv[1]);
    std::string list;
    std::size_t number = 0;
    std::size_t refused = 0;
    for (const shape_cases::ShapeCase& of : shape_cases::all_shape_cases()) {
      const shape_cases::Result result =
          shape_cases::result_of([&](th::Graph& graph) { return shape_cases::import(graph, of); });
      list += fmt::format("{}\t{}\t{}\t{}\t", number++, of.op, result.shapes, result.error);
      for (const char byte : shape_cases::bytes_of(shape_cases::graph_def_of(of)))
        list += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      list += '\n';
      if (!result.error.empty()) ++refused;
    }
    th::write_file_atomically(disk, th::join_path(argv[1], "cases.tsv"), list);
    fmt::print("{} cases, of which {} are refused\n", number, refused);
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_shape_cases: {}\n", error.what());
    return 1;
  }
}
