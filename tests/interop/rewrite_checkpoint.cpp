// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads a checkpoint and writes all that is in it as another one: rewrite_checkpoint <from> <to> <pieces> <shard
/// bytes> [names]. Each tensor is cut along its first dimension into so many pieces of about the same size, or, for 0,
/// as it was. `names` gives variables of an object-based checkpoint their full names.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/compat/object_graph_keys.hpp>

namespace {

namespace th = trainhook;

void add_pieces(th::BundleWriter& writer, const th::BundleReader& reader, const std::string& name,
                std::int64_t pieces) {
  const th::Shape& shape = reader.entry(name).shape;
  if (shape.rank() == 0 || shape.num_elements() == 0) {
    writer.add(name, reader.get_tensor(name));
    return;
  }
  const std::int64_t rows = shape[0];
  const std::int64_t parts = std::min(pieces, rows);
  for (std::int64_t part = 0, start = 0; part < parts; ++part) {
    const std::int64_t length = rows / parts + (part < rows % parts ? 1 : 0);
    std::vector<th::TensorSlice::Extent> extents = {{start, length}};
    for (std::size_t axis = 1; axis < shape.rank(); ++axis) extents.push_back({0, shape[axis]});
    const th::TensorSlice slice(extents);
    writer.add_slice(name, shape, slice, reader.get_tensor(name, slice));
    start += length;
  }
}

void rewrite(const th::BundleReader& reader, th::BundleWriter& writer, std::int64_t pieces) {
  for (const auto& [name, entry] : reader.entries()) {
    if (pieces > 0) {
      add_pieces(writer, reader, name, pieces);
    } else if (entry.slices.empty()) {
      writer.add(name, reader.get_tensor(name));
    } else {
      for (const th::TensorSlice& slice : entry.slices)
        writer.add_slice(name, entry.shape, slice, reader.get_tensor(name, slice));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool by_full_names = argc == 6 && argv[5] == std::string_view("names");
    if (argc != 5 && !by_full_names)
      throw th::InvalidArgumentError("usage: rewrite_checkpoint <from> <to> <pieces> <shard bytes> [names]");
    const th::BundleReader reader(argv[1]);
    th::BundleWriter writer(argv[2], {.shard_bytes = std::stoull(argv[4])});
    if (by_full_names) {
      const th::ObjectGraphKeys keys(reader);
      for (const auto& [name, key] : keys.keys()) writer.add(name, reader.get_tensor(key));
    } else {
      rewrite(reader, writer, std::stoll(argv[3]));
    }
    writer.finish();
  } catch (const std::exception& error) {
    fmt::print(stderr, "rewrite_checkpoint: {}\n", error.what());
    return 1;
  }
}
