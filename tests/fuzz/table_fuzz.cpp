// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes table files, which indexes of checkpoints are.
#include "fuzz.hpp"

#include <trainhook/io/table_reader.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  const th::detail::TableReader table(std::string(input.rest()), "fuzz.index");
  table.for_each([](std::string_view, std::string_view) {});
}

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> seeds;
  for (const std::string_view name : {"every_dtype", "model.ckpt-3", "object_based", "partitioned", "sharded"})
    seeds.push_back(data_file(std::string(name) + ".index"));
  return seeds;
}
