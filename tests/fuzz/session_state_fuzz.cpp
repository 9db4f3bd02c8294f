// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes the states of engines, hooks and input of a loop, through a whole restore.
#include "fuzz.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace th = trainhook;

namespace {

/// Trains two steps with one of each kind of state that a loop can have.
void train(th::FileSystem& disk) {
  std::vector<float> weights{1, 2};
  std::mt19937_64 mt{1};
  std::ranlux48 ranlux{2};
  std::knuth_b knuth{3};
  std::array<std::int32_t, 4> plain{};
  std::map<std::string, std::vector<std::optional<std::string>>> nested{{"a", {"b", {}}}, {"c", {}}};
  std::set<std::int64_t> elements{1, 2};
  th::LoopSession loop;
  th::Iterator& numbers = th::make_iterator(loop, th::Dataset::range(40).shuffle(8, 3).repeat(), "numbers");
  loop.variable("weights", weights);
  loop.state("mt", mt);
  loop.state("ranlux", ranlux);
  loop.state("knuth", knuth);
  loop.state("plain", plain);
  loop.state("nested", nested);
  loop.state("elements", elements);
  auto session = th::monitored_training_session(loop, {.checkpoint_dir = "run",
                                                       .save_checkpoint_steps = 2,
                                                       .save_summaries_steps = 0,
                                                       .log_step_count_steps = 0,
                                                       .save_graph_def = false,
                                                       .hooks = {th::StopAtStepHook({.num_steps = 2})},
                                                       .file_system = &disk});
  while (!session.should_stop()) {
    session.run([&] {
      th::Element element;
      numbers.get_next(element);
      weights[0] += static_cast<float>(mt() % 2 + ranlux() % 2 + knuth() % 2);
    });
  }
  session.close();
}

constexpr auto kPrefix = "run/model.ckpt-2";

/// What a checkpoint of the model holds.
const std::vector<std::pair<std::string, th::Tensor>>& saved() {
  static const auto entries = [] {
    th::testing::MemoryFileSystem disk;
    train(disk);
    const th::BundleReader reader(kPrefix, {.file_system = &disk});
    std::vector<std::pair<std::string, th::Tensor>> result;
    for (const auto& [name, entry] : reader.entries()) result.emplace_back(name, reader.get_tensor(name));
    return result;
  }();
  return entries;
}

std::string bytes_of(const th::Tensor& tensor) {
  if (tensor.dtype() == th::DType::String) return tensor.num_elements() == 0 ? "" : tensor.data<std::string>().back();
  const auto bytes = tensor.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A tensor of the type of `like` with other contents.
th::Tensor with_contents(const th::Tensor& like, std::string_view contents) {
  th::Tensor tensor = like;
  if (like.dtype() == th::DType::String) {
    if (like.num_elements() > 0) tensor.mutable_data<std::string>().back() = contents;
    return tensor;
  }
  const std::string bytes = bytes_of(like);
  const auto into = tensor.mutable_bytes();
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i] = static_cast<std::byte>(i < contents.size() ? contents[i] : bytes[i]);
  return tensor;
}

}  // namespace

void fuzz::read(Input input) {
  const std::size_t changed = input.choice(saved().size());
  th::testing::MemoryFileSystem disk;
  disk.make_directories("run");
  th::BundleWriter writer(kPrefix, {.file_system = &disk});
  for (std::size_t i = 0; i < saved().size(); ++i) {
    const auto& [name, tensor] = saved()[i];
    writer.add(name, i == changed ? with_contents(tensor, input.rest()) : tensor);
  }
  writer.finish();
  train(disk);
}

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < saved().size(); ++i) seeds.push_back(static_cast<char>(i) + bytes_of(saved()[i].second));
  return seeds;
}
