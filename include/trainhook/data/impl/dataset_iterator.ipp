// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/dataset_iterator.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/iterator_state.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/random_number.hpp>

namespace trainhook::detail {

inline constexpr std::uint64_t kIteratorVersion = 2;        // still reads 1, which has no errors, replays or sources
inline constexpr std::string_view kIteratorMagic = "THds";  // then the checksum of all that follows it, low byte first
inline constexpr std::size_t kIteratorHeaderSize = 8;

inline std::unique_ptr<ElementStream> open_iteration(const DatasetNode& node, std::uint64_t entropy) {
  return node.elements({.epoch = 0, .entropy = entropy, .path = 0, .shadow = false});
}

inline void check_external_state(const DatasetNode& node, ExternalStatePolicy policy) {
  if (policy == ExternalStatePolicy::Ignore) return;
  std::vector<std::string> found;
  node.add_external_state(found);
  if (found.empty()) return;
  std::string all;
  for (const std::string& line : found) all += fmt::format("{}{}", all.empty() ? "" : "; ", line);
  if (policy == ExternalStatePolicy::Fail) {
    throw FailedPreconditionError(
        "the input pipeline has state that cannot be saved: {} (or set external_state_policy to warn or ignore)", all);
  }
  log_warning("the saved state of the input pipeline is incomplete: {}", all);
}

/// A source's description without the number of its elements: `from_tensor_slices[5](string[])`.
inline std::string without_count(std::string_view stage) {
  const std::size_t bracket = stage.find_first_of("[(");
  if (bracket == std::string_view::npos || stage[bracket] == '(') return std::string(stage);
  return fmt::format("{}{}", stage.substr(0, bracket),
                     stage.substr((std::min)(stage.find(']', bracket), stage.size())));
}

/// Returns whether the sources differ in size, which is an error unless the reader allows it.
inline bool check_pipeline(const DatasetNode& node, StateReader& reader) {
  bool differs = false;
  std::vector<std::string> stages;
  describe_pipeline(node, stages);
  reader.begin("pipeline");
  const std::uint64_t count = reader.integer("the number of stages");
  for (std::size_t i = 0; i < count || i < stages.size(); ++i) {
    const std::string_view saved = i < count ? reader.string("a stage") : std::string_view("nothing");
    const std::string_view here = i < stages.size() ? std::string_view(stages[i]) : std::string_view("nothing");
    if (saved == here) continue;
    const bool is_source = without_count(saved) == without_count(here);
    differs = is_source && reader.allows_changed_sources();
    if (!differs) {
      throw InvalidArgumentError(
          "the saved state is that of another input pipeline: its stage {} is {}, here it is {}; build the same "
          "pipeline, or start without this state{}",
          i + 1, saved, here,
          is_source ? ", or call allow_changed_sources() on the dataset to go on with other data" : "");
    }
    log_warning("stage {} of the input pipeline was {} when its state was saved, here it is {}", i + 1, saved, here);
  }
  reader.end();
  return differs;
}

inline std::string sealed(const std::string& body) {
  std::string state(kIteratorMagic);
  const std::uint32_t checksum = crc32c::value(body);
  for (unsigned shift = 0; shift < 32; shift += 8) state.push_back(static_cast<char>(checksum >> shift & 0xFF));
  state += body;
  return state;
}

inline std::string_view unsealed(std::string_view state) {
  if (state.size() < kIteratorHeaderSize || !state.starts_with(kIteratorMagic)) {
    throw DataLossError("these {} bytes are not the saved state of an input pipeline", state.size());
  }
  std::uint32_t checksum = 0;
  for (std::size_t i = 0; i < 4; ++i)
    checksum |= static_cast<std::uint32_t>(static_cast<unsigned char>(state[kIteratorMagic.size() + i])) << 8 * i;
  const std::string_view body = state.substr(kIteratorHeaderSize);
  if (!crc32c::agree(checksum, crc32c::value(body)))
    throw DataLossError("the saved state of an input pipeline is damaged: its checksum does not match");
  return body;
}

}  // namespace trainhook::detail

namespace trainhook {

DatasetIterator::DatasetIterator(detail::NodePtr node) : node_(std::move(node)) {
  if (node_->needs_entropy()) entropy_ = detail::random_number();
  stream_ = detail::open_iteration(*node_, entropy_);
}

DatasetIterator::DatasetIterator(DatasetIterator&&) noexcept = default;
DatasetIterator& DatasetIterator::operator=(DatasetIterator&&) noexcept = default;
DatasetIterator::~DatasetIterator() = default;

bool DatasetIterator::next(Element& element) { return stream_->next(element); }

std::int64_t DatasetIterator::skip(std::int64_t count) { return stream_->advance(count); }

std::string DatasetIterator::save(ExternalStatePolicy policy) {
  detail::check_external_state(*node_, policy);
  detail::StateWriter writer(policy != ExternalStatePolicy::Fail);
  std::vector<std::string> stages;
  detail::describe_pipeline(*node_, stages);
  writer.integer(detail::kIteratorVersion);
  writer.begin("pipeline");
  writer.integer(stages.size());
  for (const std::string& stage : stages) writer.string(stage);
  writer.end();
  detail::save_sources(detail::sources_of(*node_), writer);
  writer.integer(entropy_);
  writer.begin("state");
  stream_->save(writer);
  writer.end();
  return detail::sealed(writer.bytes());
}

void DatasetIterator::restore(std::string_view state) {
  detail::StateReader reader(detail::unsealed(state), node_->allows_changed_sources());
  const std::uint64_t version = reader.integer("the version");
  if (version < 1 || version > detail::kIteratorVersion) {
    throw UnimplementedError("the saved state of an input pipeline has version {}; this library reads 1 to {}", version,
                             detail::kIteratorVersion);
  }
  const bool has_other_size = detail::check_pipeline(*node_, reader);
  const bool has_other_sources = detail::check_sources(detail::sources_of(*node_), reader) || has_other_size;
  const std::uint64_t entropy = reader.integer("the entropy");
  std::unique_ptr<detail::ElementStream> fresh = detail::open_iteration(*node_, entropy);
  reader.begin("state");
  try {
    fresh->restore(reader);
  } catch (const DataLossError& error) {
    if (!reader.has_failed()) {  // as the DataLossError that it is, it would make a session skip the checkpoint
      throw UnknownError(
          "the input pipeline cannot be brought to its saved position, which is undamaged, because its source or a "
          "function of it fails: {}",
          error.what());
    }
    if (!has_other_sources) throw;
    throw InvalidArgumentError("the input pipeline cannot go on with other data: {}; start without this state",
                               error.what());
  }
  reader.end();
  if (!reader.at_end()) reader.fail("more follows after its end");
  stream_ = std::move(fresh);
  entropy_ = entropy;
}

}  // namespace trainhook
