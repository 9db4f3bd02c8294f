// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes the saved positions of input pipelines, of each kind of dataset.
#include "fuzz.hpp"

#include <cstdint>

#include "pipelines.hpp"

namespace th = trainhook;

namespace {

const std::vector<pipelines::Pipeline>& zoo() {
  static const std::vector<pipelines::Pipeline> pipelines = pipelines::zoo();
  return pipelines;
}

constexpr std::int64_t kLook = 5;

}  // namespace

void fuzz::read(Input input) {
  th::DatasetIterator iterator = zoo()[input.choice(zoo().size())].dataset.make_iterator();
  iterator.restore(input.rest());
  static_cast<void>(pipelines::some(iterator, kLook));
  static_cast<void>(iterator.save(th::ExternalStatePolicy::Ignore));
}

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < zoo().size(); ++i) {
    th::DatasetIterator iterator = zoo()[i].dataset.make_iterator();
    static_cast<void>(pipelines::some(iterator, kLook));
    seeds.push_back(static_cast<char>(i) + iterator.save(th::ExternalStatePolicy::Ignore));
  }
  return seeds;
}
