// SPDX-License-Identifier: Apache-2.0
/// @file
/// One run over a dataset, for one thread at a time: next element, save, restore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/log.hpp>
#include <trainhook/data/node.hpp>
#include <trainhook/io/crc32c.hpp>

namespace trainhook {

/// Walks over the elements of a dataset. Its state is its position after the elements that were consumed, and what stages hold back
/// besides: saved, and restored into an iterator over an equal dataset, even in another process, it goes on with the very next element.
class DatasetIterator {
 public:
  explicit DatasetIterator(detail::NodePtr node) : node_(std::move(node)) {
    if (node_->needs_entropy()) {
      std::random_device device;
      entropy_ = device() | static_cast<std::uint64_t>(device()) << 32;
    }
    stream_ = open(entropy_);
  }

  /// Fetches the next element; false at the end. Hand in the same `element` again and its memory is used again.
  /// After an error the element that could not be had is skipped.
  [[nodiscard]] bool next(Element& element) { return stream_->next(element); }

  /// Skips up to `count` elements, without computing them where the stages allow it; says how many there were.
  std::int64_t skip(std::int64_t count) { return stream_->advance(count); }

  /// The state as bytes. @throws FailedPreconditionError naming each stage whose state lies outside, unless `policy` allows it.
  [[nodiscard]] std::string save(ExternalStatePolicy policy = ExternalStatePolicy::Fail) {
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

  /// Goes to where `state` was saved; after an error the iterator is where it was.
  /// @throws DataLossError for damaged bytes, InvalidArgumentError for the state of another pipeline, naming the stage that differs.
  void restore(std::string_view state) {
    StateReader reader(unsealed(state));
    if (const std::uint64_t version = reader.integer("the version"); version != kVersion) {
      throw UnimplementedError("the saved state of an input pipeline has version ", version, "; this library reads version ", kVersion);
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

 private:
  static constexpr std::uint64_t kVersion = 1;
  static constexpr std::string_view kMagic = "THds";  // followed by the checksum of all the rest, low byte first
  static constexpr std::size_t kHeaderSize = 8;

  [[nodiscard]] std::unique_ptr<detail::ElementStream> open(std::uint64_t entropy) const {
    return node_->elements({.epoch = 0, .entropy = entropy, .path = 0, .shadow = false});
  }

  void check_external_state(ExternalStatePolicy policy) const {
    if (policy == ExternalStatePolicy::Ignore) return;
    std::vector<std::string> found;
    node_->add_external_state(found);
    if (found.empty()) return;
    std::string all;
    for (const std::string& line : found) all += (all.empty() ? "" : "; ") + line;
    if (policy == ExternalStatePolicy::Fail) {
      throw FailedPreconditionError("the input pipeline has state that cannot be saved: ", all,
                                    " (or set external_state_policy to warn or ignore)");
    }
    log_warning("the saved state of the input pipeline is incomplete: ", all);
  }

  void check_pipeline(StateReader& reader) const {
    std::vector<std::string> stages;
    detail::describe_pipeline(*node_, stages);
    reader.begin("pipeline");
    const std::uint64_t count = reader.integer("the number of stages");
    for (std::size_t i = 0; i < count || i < stages.size(); ++i) {
      const std::string_view saved = i < count ? reader.string("a stage") : std::string_view("nothing");
      const std::string_view here = i < stages.size() ? std::string_view(stages[i]) : std::string_view("nothing");
      if (saved != here) {
        throw InvalidArgumentError("the saved state is that of another input pipeline: its stage ", i + 1, " is ", saved, ", here it is ",
                                   here, "; build the same pipeline, or start without this state");
      }
    }
    reader.end();
  }

  static std::string sealed(const std::string& body) {
    std::string state(kMagic);
    const std::uint32_t checksum = crc32c::value(body);
    for (unsigned shift = 0; shift < 32; shift += 8) state.push_back(static_cast<char>(checksum >> shift & 0xFF));
    return state + body;
  }

  static std::string_view unsealed(std::string_view state) {
    if (state.size() < kHeaderSize || !state.starts_with(kMagic)) {
      throw DataLossError("these ", state.size(), " bytes are not the saved state of an input pipeline");
    }
    std::uint32_t checksum = 0;
    for (std::size_t i = 0; i < 4; ++i)
      checksum |= static_cast<std::uint32_t>(static_cast<unsigned char>(state[kMagic.size() + i])) << 8 * i;
    const std::string_view body = state.substr(kHeaderSize);
    if (crc32c::value(body) != checksum)
      throw DataLossError("the saved state of an input pipeline is damaged: its checksum does not match");
    return body;
  }

  detail::NodePtr node_;
  std::uint64_t entropy_ = 0;
  std::unique_ptr<detail::ElementStream> stream_;
};

}  // namespace trainhook
