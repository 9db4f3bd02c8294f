// SPDX-License-Identifier: Apache-2.0
// The commands that write files for other programs, and checkpoints from theirs.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/checkpoint/rename.hpp>
#include <trainhook/exchange.hpp>

#include "commands.hpp"
#include "report.hpp"

namespace th = trainhook;

namespace {

std::optional<th::DType> dtype_called(const std::string& name) {
  for (const th::DType dtype : {th::DType::Float, th::DType::Double, th::DType::Half, th::DType::BFloat16})
    if (th::dtype_name(dtype) == name) return dtype;
  return std::nullopt;
}

/// OLD=NEW as a pair.
std::vector<std::pair<std::string, std::string>> pairs_in(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      throw th::InvalidArgumentError("--rename {}: write it as OLD=NEW, such as net/=model. or net/= for nothing",
                                     word);
    }
    pairs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return pairs;
}

}  // namespace

int export_checkpoint(const std::string& prefix_or_directory, const std::string& out, const ExportChoices& choices) {
  const std::string extension = std::filesystem::path(out).extension();
  const bool is_npy = extension == ".npy";
  if (!is_npy && !extension.empty() && extension != ".safetensors") {
    throw th::InvalidArgumentError(
        "{} is not written: export writes .safetensors files, which torch, JAX and others load, or one tensor as a "
        ".npy "
        "file",
        out);
  }
  if (is_npy == choices.tensor.empty())
    throw th::InvalidArgumentError("a .npy file, and no other, needs --tensor: {} is not written", out);
  const th::BundleReader reader = th::load_checkpoint(prefix_or_directory);
  if (is_npy) {
    const th::Tensor tensor = reader.get_tensor(choices.tensor);
    th::write_npy(out, tensor);
    fmt::print("{}: {}{} of {}\n", out, tensor.dtype(), tensor.shape(), reader.prefix());
    return kFine;
  }
  const std::vector<std::string> left_out = th::write_safetensors(out, reader,
                                                                  {.only = choices.only,
                                                                   .rename = pairs_in(choices.rename),
                                                                   .dtype = dtype_called(choices.dtype),
                                                                   .metadata = {{"format", "pt"}},
                                                                   .max_shard_size = choices.max_shard_size});
  const auto chosen = static_cast<std::size_t>(std::ranges::count_if(
      reader.entries(), [&](const auto& entry) { return entry.first.starts_with(choices.only); }));
  fmt::print("{}: {} of {}\n", out, counted(chosen - left_out.size(), "tensor"), reader.prefix());
  if (!left_out.empty())
    fmt::print("left out, because they are texts, complex128 or the state of hooks: {}\n",
               Cell(fmt::format("{}", fmt::join(left_out, ", "))).text);
  return kFine;
}

int import_checkpoint(const std::string& file, const std::string& out, const std::vector<std::string>& rename) {
  const th::SafetensorsReader reader(file);
  const auto pairs = pairs_in(rename);
  std::map<std::string, std::string> names;
  std::vector<std::string> all;
  for (const auto& [name, entry] : reader.entries()) {
    all.push_back(name);
    const auto [place, is_new] = names.emplace(th::detail::renamed(name, pairs), name);
    if (!is_new)
      throw th::InvalidArgumentError("'{}' and '{}' would both be called '{}'", place->second, name, place->first);
  }
  th::detail::expect_used(all, {}, pairs);
  th::BundleWriter writer(out);
  for (const auto& [name, from] : names) writer.add(name, reader.get_tensor(from));
  writer.finish();
  fmt::print("{}: {} of {}\n", out, counted(names.size(), "tensor"), file);
  return kFine;
}
