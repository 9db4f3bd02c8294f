// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/sharded_save.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/non_finite.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/ranks/equal_variables.hpp>
#include <trainhook/ranks/rank_rounds.hpp>

namespace trainhook::detail {

struct RankNamesMessage {
  std::vector<std::string> name{};
};
template <>
inline constexpr auto kFields<RankNamesMessage> = std::tuple(field(1, "name", &RankNamesMessage::name));

// ShardedSave, as ranks send it.
struct ShardedSaveMessage {
  std::string prefix{};
  std::string suffix{};
  bool refuse_non_finite = false;
  bool later = false;
  std::vector<RankNamesMessage> rank{};
  std::vector<std::string> tensor{};
};
template <>
inline constexpr auto kFields<ShardedSaveMessage> =
    std::tuple(field(1, "prefix", &ShardedSaveMessage::prefix), field(2, "suffix", &ShardedSaveMessage::suffix),
               field(3, "refuse_non_finite", &ShardedSaveMessage::refuse_non_finite),
               field(4, "later", &ShardedSaveMessage::later), field(5, "rank", &ShardedSaveMessage::rank),
               field(6, "tensor", &ShardedSaveMessage::tensor));

std::string sharded_save_bytes(const ShardedSave& save) {
  ShardedSaveMessage message{.prefix = save.prefix,
                             .suffix = save.suffix,
                             .refuse_non_finite = save.refuse_non_finite,
                             .later = save.later,
                             .tensor = save.tensors};
  for (const std::vector<std::string>& names : save.names) message.rank.push_back({names});
  return message_bytes(message);
}

ShardedSave sharded_save_in(std::string_view bytes) {
  auto message = parse_message<ShardedSaveMessage>(bytes, "the chief's order to save");
  if (message.prefix.empty() || message.suffix.empty())
    throw DataLossError("the chief's order to save names no checkpoint");
  ShardedSave save{.prefix = std::move(message.prefix),
                   .suffix = std::move(message.suffix),
                   .tensors = std::move(message.tensor),
                   .refuse_non_finite = message.refuse_non_finite,
                   .later = message.later};
  for (RankNamesMessage& rank : message.rank) save.names.push_back(std::move(rank.name));
  return save;
}

std::vector<std::vector<std::string>> divide_by_bytes(const std::vector<StateSpec>& state, const Graph& graph,
                                                      int ranks) {
  const std::vector<StateSpec> equal = equal_variables(state, graph);
  std::vector<std::pair<std::uint64_t, std::string_view>> by_size;
  for (const StateSpec& spec : equal) {
    const std::uint64_t elements =
        spec.shape.is_fully_known() ? static_cast<std::uint64_t>(spec.shape.known().num_elements()) : 0;
    by_size.emplace_back(dtype_size(spec.dtype) * elements, spec.name);
  }
  std::ranges::sort(by_size, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(ranks));
  std::vector<std::vector<std::string>> names(bytes.size());
  for (const auto& [size, name] : by_size) {
    const auto least = std::ranges::min_element(bytes);
    *least += size;
    names[static_cast<std::size_t>(least - bytes.begin())].emplace_back(name);
  }
  while (names.size() > 1 && names.back().empty()) names.pop_back();
  for (std::vector<std::string>& of_rank : names) std::ranges::sort(of_rank);
  names.front().clear();
  return names;
}

// The variables that this rank writes: those that the chief names, and its own parts of the tensors.
inline std::vector<std::string> names_to_write(const ShardedSave& save, std::uint32_t part,
                                               const VariableSlices& slices) {
  std::vector<std::string> names = save.names.at(part);
  for (std::string& name : slices.own()) {
    if (std::ranges::find(save.tensors, slices.find(name)->full_name) != save.tensors.end())
      names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

// What brings the value of a variable: the present one or, for a part that is written later, that of this moment.
inline std::function<Tensor()> value_to_write(SessionRef session, const std::string& name, bool later) {
  if (!later && session.gives_saved_values()) return [session, name] { return session.saved_value(name); };
  std::function<Tensor()> value;
  if (later) value = session.deferred_value(name);
  if (!value) value = [tensor = session.snapshot(std::span(&name, 1)).at(0).tensor] { return tensor; };
  return value;
}

ShardOfRank::ShardOfRank(SessionRef session, const ShardedSave& save, int rank, FileSystem& file_system)
    : part_(save.part_of(static_cast<std::uint32_t>(rank))) {
  Values values;
  VariableSlices slices;
  std::exception_ptr error;
  try {
    slices = VariableSlices(session.graph());
    for (std::string& name : names_to_write(save, part_.number, slices)) {
      std::function<Tensor()> value = save.later ? value_to_write(session, name, true) : nullptr;
      values.emplace_back(std::move(name), std::move(value));
    }
  } catch (...) { error = std::current_exception(); }
  write_ = std::packaged_task<std::string()>(
      [this, session, save, slices = std::move(slices), values = std::move(values), error, &file_system] {
        if (error != nullptr) std::rethrow_exception(error);
        return write(session, save, slices, values, file_system);
      });
  index_ = write_.get_future();
  const auto run = [this] {
    write_();
    write_ = {};  // gives back the values
  };
  try {
    if (save.later) thread_ = Thread("a background save", run);
  } catch (const ResourceExhaustedError& resource_error) {
    log_warning("{}; the step waits until this rank's part is written", resource_error.what());
  }
  if (!thread_.joinable()) run();
}

std::string ShardOfRank::write(SessionRef session, const ShardedSave& save, const VariableSlices& slices,
                               const Values& values, FileSystem& file_system) {
  writer_ =
      std::make_unique<BundleWriter>(save.prefix, BundleWriterOptions{.file_system = &file_system, .part = part_});
  for (const auto& [name, later] : values) {
    const StateMemory present = later ? StateMemory() : session.memory(name);
    Tensor value;
    if (present.bytes.empty()) value = later ? later() : value_to_write(session, name, false)();
    if (save.refuse_non_finite) expect_finite(name, value.has_value() ? elements_of(value) : present, save.prefix);
    if (value.has_value()) {
      slices.add(*writer_, name, value);
    } else {
      slices.add(*writer_, name, present);
    }
  }
  return writer_->finish_part();
}

ShardOfRank::~ShardOfRank() { thread_.join(); }

bool ShardOfRank::is_writing() const {
  return index_.valid() && index_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

std::string ShardOfRank::take() {
  thread_.join();  // then it is done with an error, too, which whoever takes it may keep
  std::string index = index_.get();
  writer_->release();
  return index;
}

PartsOfOthers::PartsOfOthers(ShardedSave save, FileSystem& file_system)
    : save_(std::move(save)), own_(save_.part_of(0)), file_system_(&file_system), parts_(promise_.get_future()) {
  for (const std::vector<std::string>& names : save_.names) names_.insert(names_.end(), names.begin(), names.end());
  std::ranges::sort(names_);
}

PartsOfOthers::~PartsOfOthers() {
  if (!is_set_ || is_waited_for_ || !process_.is_here()) return;
  for (std::uint32_t part = 1; part < save_.num_parts(); ++part)
    remove_silently(*file_system_, temporary_data_path(save_.prefix, part, save_.suffix));
}

bool PartsOfOthers::brings(const std::string& variable) const { return std::ranges::binary_search(names_, variable); }

void PartsOfOthers::set(std::vector<std::string> parts) {
  if (!std::exchange(is_set_, true)) promise_.set_value(std::move(parts));
}

void PartsOfOthers::fail(const std::exception_ptr& error) {
  if (!std::exchange(is_set_, true)) promise_.set_exception(error);
}

void PartsOfOthers::add_to(BundleWriter& writer) {
  is_waited_for_ = true;
  if (fetch_) fetch_();
  const std::vector<std::string> parts = parts_.get();
  for (std::size_t i = 0; i < parts.size(); ++i) writer.add_part(static_cast<std::uint32_t>(i + 1), parts[i]);
}

bool RankShards::is_writing() const {
  return std::ranges::any_of(shards_, [](const auto& of) { return of.second != nullptr && of.second->is_writing(); });
}

void RankShards::begin(const ShardedSave& save, SessionRef session, FileSystem& file_system) {
  std::unique_ptr<ShardOfRank>& mine = shards_[save.suffix];
  const auto part = static_cast<std::size_t>(rank_);
  if (rank_ > 0 && part < save.num_parts()) mine = std::make_unique<ShardOfRank>(session, save, rank_, file_system);
}

// What the chief orders to be handed over: all but these.
struct ShardOrderMessage {
  std::vector<std::string> dropped_suffix{};
};
template <>
inline constexpr auto kFields<ShardOrderMessage> =
    std::tuple(field(1, "dropped_suffix", &ShardOrderMessage::dropped_suffix));

// A rank's part of one checkpoint: its index, or why there is none.
struct GivenPartMessage {
  std::string suffix{};
  std::string index{};
  std::optional<RankFailure> failure{};
};
template <>
inline constexpr auto kFields<GivenPartMessage> =
    std::tuple(field(1, "suffix", &GivenPartMessage::suffix), field(2, "index", &GivenPartMessage::index),
               field(3, "failure", &GivenPartMessage::failure));

struct GivenPartsMessage {
  std::vector<GivenPartMessage> part{};
};
template <>
inline constexpr auto kFields<GivenPartsMessage> = std::tuple(field(1, "part", &GivenPartsMessage::part));

std::string RankShards::give(std::string_view order) {
  const auto dropped = parse_message<ShardOrderMessage>(order, "the chief's order").dropped_suffix;
  GivenPartsMessage given;
  for (const auto& entry : shards_) {
    ShardOfRank* const shard = entry.second.get();
    if (shard == nullptr || std::ranges::find(dropped, entry.first) != dropped.end()) continue;
    GivenPartMessage& part = given.part.emplace_back(GivenPartMessage{.suffix = entry.first});
    try {
      part.index = shard->take();
    } catch (...) { part.failure = failure_of(std::current_exception()); }
  }
  shards_.clear();
  return message_bytes(given);
}

void RankShards::await_parts(const std::shared_ptr<PartsOfOthers>& parts) { expected_[parts->save().suffix] = parts; }

std::string RankShards::order() {
  ShardOrderMessage order;
  ordered_.clear();
  for (const auto& [suffix, expected] : expected_) {
    if (std::shared_ptr<PartsOfOthers> parts = expected.lock()) {
      ordered_.push_back(std::move(parts));
    } else {
      order.dropped_suffix.push_back(suffix);
    }
  }
  expected_.clear();
  return message_bytes(order);
}

// The index of that rank's part. @throws its error.
inline std::string index_of(const ShardedSave& save, std::string_view given, std::size_t rank) {
  const std::string what = fmt::format("what rank {} has written", rank);
  auto message = parse_message<GivenPartsMessage>(given, what);
  for (GivenPartMessage& part : message.part) {
    if (part.suffix != save.suffix) continue;
    if (!part.failure) return std::move(part.index);
    throw_error(part.failure->code, fmt::format("rank {} could not write its part: {}", rank, part.failure->message));
  }
  throw DataLossError("rank {} knows of no part of {}", rank, save.prefix);
}

void RankShards::take(const std::vector<std::string>& given) {
  for (const std::shared_ptr<PartsOfOthers>& parts : std::exchange(ordered_, {})) {
    const ShardedSave& save = parts->save();
    try {
      std::vector<std::string> indices;
      for (std::size_t rank = 1; rank < save.num_parts(); ++rank)
        indices.push_back(index_of(save, given.at(rank), rank));
      parts->set(std::move(indices));
    } catch (...) { parts->fail(std::current_exception()); }
  }
}

void RankShards::cancel(const std::exception_ptr& error) noexcept {
  for (const auto& [suffix, expected] : std::exchange(expected_, {})) {
    if (const std::shared_ptr<PartsOfOthers> parts = expected.lock()) parts->fail(error);
  }
  for (const std::shared_ptr<PartsOfOthers>& parts : std::exchange(ordered_, {})) parts->fail(error);
  shards_.clear();
}

}  // namespace trainhook::detail
