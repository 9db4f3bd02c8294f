// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of dataset_iterator.hpp.
#pragma once

#include <trainhook/data/dataset_iterator.hpp>

#include <random>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/crc32c.hpp>

namespace trainhook {

TRAINHOOK_DECL DatasetIterator::DatasetIterator(detail::NodePtr node) : node_(std::move(node)) {
  if (node_->needs_entropy()) {
    std::random_device device;
    entropy_ = device() | static_cast<std::uint64_t>(device()) << 32;
  }
  stream_ = open(entropy_);
}

TRAINHOOK_DECL std::string DatasetIterator::save(ExternalStatePolicy policy) {
  check_external_state(policy);
  StateWriter writer(policy != ExternalStatePolicy::Fail);
  std::vector<std::string> stages;
  detail::describe_pipeline(*node_, stages);
  writer.integer(kVersion);
  writer.begin("pipeline");
  writer.integer(stages.size());
  for (const std::string& stage : stages) writer.string(stage);
  writer.end();
  writer.integer(entropy_);
  writer.begin("state");
  stream_->save(writer);
  writer.end();
  return sealed(writer.bytes());
}

TRAINHOOK_DECL void DatasetIterator::restore(std::string_view state) {
  StateReader reader(unsealed(state));
  if (const std::uint64_t version = reader.integer("the version"); version != kVersion) {
    throw UnimplementedError("the saved state of an input pipeline has version {}; this library reads version {}",
                             version, kVersion);
  }
  check_pipeline(reader);
  const std::uint64_t entropy = reader.integer("the entropy");
  std::unique_ptr<detail::ElementStream> fresh = open(entropy);
  reader.begin("state");
  fresh->restore(reader);
  reader.end();
  if (!reader.at_end()) reader.fail("more follows after its end");
  stream_ = std::move(fresh);
  entropy_ = entropy;
}

TRAINHOOK_DECL std::unique_ptr<detail::ElementStream> DatasetIterator::open(std::uint64_t entropy) const {
  return node_->elements({.epoch = 0, .entropy = entropy, .path = 0, .shadow = false});
}

TRAINHOOK_DECL void DatasetIterator::check_external_state(ExternalStatePolicy policy) const {
  if (policy == ExternalStatePolicy::Ignore) return;
  std::vector<std::string> found;
  node_->add_external_state(found);
  if (found.empty()) return;
  std::string all;
  for (const std::string& line : found) all += fmt::format("{}{}", all.empty() ? "" : "; ", line);
  if (policy == ExternalStatePolicy::Fail) {
    throw FailedPreconditionError(
        "the input pipeline has state that cannot be saved: {} (or set external_state_policy to warn or ignore)", all);
  }
  log_warning("the saved state of the input pipeline is incomplete: {}", all);
}

TRAINHOOK_DECL void DatasetIterator::check_pipeline(StateReader& reader) const {
  std::vector<std::string> stages;
  detail::describe_pipeline(*node_, stages);
  reader.begin("pipeline");
  const std::uint64_t count = reader.integer("the number of stages");
  for (std::size_t i = 0; i < count || i < stages.size(); ++i) {
    const std::string_view saved = i < count ? reader.string("a stage") : std::string_view("nothing");
    const std::string_view here = i < stages.size() ? std::string_view(stages[i]) : std::string_view("nothing");
    if (saved != here) {
      throw InvalidArgumentError(
          "the saved state is that of another input pipeline: its stage {} is {}, here it is {}; build the same "
          "pipeline, or start without this state",
          i + 1, saved, here);
    }
  }
  reader.end();
}

TRAINHOOK_DECL std::string DatasetIterator::sealed(const std::string& body) {
  std::string state(kMagic);
  const std::uint32_t checksum = crc32c::value(body);
  for (unsigned shift = 0; shift < 32; shift += 8) state.push_back(static_cast<char>(checksum >> shift & 0xFF));
  return state + body;
}

TRAINHOOK_DECL std::string_view DatasetIterator::unsealed(std::string_view state) {
  if (state.size() < kHeaderSize || !state.starts_with(kMagic)) {
    throw DataLossError("these {} bytes are not the saved state of an input pipeline", state.size());
  }
  std::uint32_t checksum = 0;
  for (std::size_t i = 0; i < 4; ++i)
    checksum |= static_cast<std::uint32_t>(static_cast<unsigned char>(state[kMagic.size() + i])) << 8 * i;
  const std::string_view body = state.substr(kHeaderSize);
  if (crc32c::value(body) != checksum)
    throw DataLossError("the saved state of an input pipeline is damaged: its checksum does not match");
  return body;
}

}  // namespace trainhook
