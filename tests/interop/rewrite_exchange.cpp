// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads a file of the module exchange/ and writes what is in it as another one: rewrite_exchange safetensors <from>
/// <to> <max shard size>, rewrite_exchange npy <from> <to>, rewrite_exchange cast <from> <to> <dtype>.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/exchange.hpp>

namespace {

namespace th = trainhook;

void rewrite(const std::string& from, const std::string& to, th::SafetensorsOptions options) {
  const th::SafetensorsReader reader(from);
  std::vector<th::NamedTensor> tensors;
  for (const auto& [name, entry] : reader.entries()) tensors.push_back({name, reader.get_tensor(name)});
  options.metadata = reader.metadata();
  th::write_safetensors(to, tensors, options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const std::string_view kind = words.empty() ? std::string_view() : std::string_view(words[0]);
    if (kind == "safetensors" && words.size() == 4) {
      rewrite(words[1], words[2], {.max_shard_size = std::stoull(words[3])});
    } else if (kind == "npy" && words.size() == 3) {
      th::write_npy(words[2], th::read_npy(words[1]));
    } else if (kind == "cast" && words.size() == 4) {
      rewrite(words[1], words[2], {.dtype = words[3] == "float16" ? th::DType::Half : th::DType::BFloat16});
    } else {
      throw th::InvalidArgumentError(
          "usage: rewrite_exchange safetensors <from> <to> <max shard size> | npy <from> <to> "
          "| cast <from> <to> <float16 or bfloat16>");
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "rewrite_exchange: {}\n", error.what());
    return 1;
  }
}
