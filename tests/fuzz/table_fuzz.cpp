// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes table files, which indexes of checkpoints are, plain and packed.
#include "fuzz.hpp"

#include <trainhook/io/tables.hpp>

#include "packed_table.hpp"

namespace th = trainhook;

void fuzz::read(Input input) {
  const th::detail::TableReader table(std::string(input.rest()), "fuzz.index");
  table.for_each([](std::string_view, std::string_view) {});
}

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> seeds;
  for (const std::string_view name :
       {"every_dtype", "model.ckpt-3", "object_based", "other_tensors", "partitioned", "sharded"}) {
    seeds.push_back(data_file(std::string(name) + ".index"));
    seeds.push_back(th::support::packed_table(seeds.back()));
  }
  return seeds;
}
