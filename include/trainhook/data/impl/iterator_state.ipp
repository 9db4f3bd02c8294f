// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/iterator_state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

inline constexpr std::uint64_t kMostReplaysPerByte = 64;  // BackgroundInput needs fewer

void StateWriter::begin(std::string_view section) {
  tag(StateItem::Begin);
  text(section);
}

void StateWriter::integer(std::uint64_t value) {
  tag(StateItem::Integer);
  varint(value);
}

void StateWriter::string(std::string_view value) {
  tag(StateItem::Bytes);
  text(value);
}

void StateWriter::integers(std::span<const std::int64_t> values) {
  tag(StateItem::Integers);
  varint(values.size());
  for (std::int64_t value : values) varint(static_cast<std::uint64_t>(value));
}

void StateWriter::random(const PhiloxState& state) {
  integer(state.seed);
  integer(state.stream);
  integer(state.position);
}

void StateWriter::element(const Element& element) {
  integer(element.size());
  for (const Tensor& component : element) tensor(component);
}

void StateWriter::tensor(const Tensor& tensor) {
  tag(StateItem::Tensor);
  varint(static_cast<std::uint64_t>(tensor.dtype()));
  varint(tensor.shape().rank());
  for (std::int64_t dim : tensor.shape().dims()) varint(static_cast<std::uint64_t>(dim));
  if (tensor.dtype() == DType::String) {
    for (const std::string& item : tensor.data<std::string>()) text(item);
  } else {
    const std::span<const std::byte> raw = tensor.bytes();
    bytes_.append(reinterpret_cast<const char*>(raw.data()), raw.size());
  }
}

void StateWriter::error(const std::exception_ptr& error) {
  const auto put = [this](ErrorCode code, std::string_view message) {
    tag(StateItem::Error);
    varint(static_cast<std::uint64_t>(code));
    text(message);
  };
  try {
    std::rethrow_exception(error);
  } catch (const Error& failure) { put(failure.code(), failure.what()); } catch (...) {
    put(ErrorCode::Unknown, describe(error));
  }
}

void StateWriter::replay(std::uint64_t count) {
  if (count == 0) return;
  tag(StateItem::Replay);
  varint(count);
}

void StateWriter::append(const StateWriter& part) {
  if (!part.external_state_.empty()) add_external_state(part.external_state_);
  bytes_ += part.bytes_;
}

void StateWriter::add_external_state(std::string_view what) {
  if (!allow_external_state_) throw FailedPreconditionError("external state: {}", what);
  if (external_state_.empty()) external_state_ = what;
}

void StateWriter::tag(StateItem item) { bytes_.push_back(static_cast<char>(item)); }

void StateWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
  bytes_.push_back(static_cast<char>(value));
}

void StateWriter::text(std::string_view value) {
  varint(value.size());
  bytes_.append(value);
}

void StateReader::begin(std::string_view section) {
  demand(StateItem::Begin, section);
  const std::string_view found = text();
  if (found != section) fail(fmt::format("it holds a section '{}' instead of '{}'", found, section));
}

void StateReader::end() { demand(StateItem::End, "the end of a section"); }

std::uint64_t StateReader::integer(std::string_view what, std::uint64_t most) {
  demand(StateItem::Integer, what);
  const std::uint64_t value = varint();
  if (value > most) fail(fmt::format("{} is {}, above {}", what, value, most));
  return value;
}

std::int64_t StateReader::position(std::string_view what, std::int64_t most) {
  return static_cast<std::int64_t>(integer(what, static_cast<std::uint64_t>(most)));
}

std::string_view StateReader::string(std::string_view what) {
  demand(StateItem::Bytes, what);
  return text();
}

std::vector<std::int64_t> StateReader::integers(std::string_view what, std::size_t most_items, std::int64_t below) {
  demand(StateItem::Integers, what);
  const std::uint64_t count = varint();
  if (count > remaining() || count > most_items) fail(fmt::format("{} has {} entries, which cannot be", what, count));
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::int64_t& value : values) {
    const std::uint64_t read = varint();
    if (below <= 0 || read >= static_cast<std::uint64_t>(below))
      fail(fmt::format("{} holds {}, not below {}", what, read, below));
    value = static_cast<std::int64_t>(read);
  }
  return values;
}

PhiloxState StateReader::random() {
  PhiloxState state;
  state.seed = integer("a seed");
  state.stream = integer("a random stream");
  state.position = integer("a random position");
  return state;
}

Element StateReader::element(const ElementSpec& spec) {
  const std::uint64_t count = integer("the number of components");
  if (count != spec.size()) fail(fmt::format("an element has {} components instead of {}", count, spec.size()));
  Element element;
  for (std::size_t i = 0; i < spec.size(); ++i) element.push_back(tensor());
  if (!matches(spec, element))
    fail(fmt::format("an element is {} instead of {}", spec_to_string(spec_of(element)), spec_to_string(spec)));
  return element;
}

Tensor StateReader::tensor() {
  demand(StateItem::Tensor, "a tensor");
  const std::uint64_t number = varint();
  if (number > 255 || find_dtype(static_cast<DType>(number)) == nullptr)
    fail(fmt::format("a tensor has dtype number {}", number));
  const auto dtype = static_cast<DType>(number);
  const std::uint64_t rank = varint();
  if (rank > kMaxRank) fail(fmt::format("a tensor has rank {}", rank));
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank));
  for (std::int64_t& dim : dims) dim = static_cast<std::int64_t>(varint());
  Shape shape;
  try {
    shape = Shape(dims);
  } catch (const InvalidArgumentError&) { fail("the shape of a tensor overflows"); }
  const std::uint64_t least = dtype == DType::String ? 1 : dtype_size(dtype);
  if (static_cast<std::uint64_t>(shape.num_elements()) > remaining() / least)
    fail("a tensor is larger than what is left of the state");
  Tensor tensor = Tensor::uninitialized(dtype, shape);
  if (dtype == DType::String) {
    for (std::string& item : tensor.overwrite_data<std::string>()) item = text();
  } else if (const std::span<std::byte> raw = tensor.overwrite_bytes(); !raw.empty()) {
    std::memcpy(raw.data(), take(raw.size()).data(), raw.size());
    const bool bad =
        dtype == DType::Bool && std::ranges::any_of(raw, [](std::byte value) { return value > std::byte{1}; });
    if (bad) fail("a truth value is neither 0 nor 1");
  }
  return tensor;
}

std::exception_ptr StateReader::error() {
  if (!next_is(StateItem::Error)) return nullptr;
  demand(StateItem::Error, "an error");
  const std::uint64_t code = varint();
  if (code < static_cast<std::uint64_t>(ErrorCode::Cancelled) || code > static_cast<std::uint64_t>(ErrorCode::DataLoss))
    fail(fmt::format("an error has the code {}", code));
  const std::string message(text());
  try {
    throw_error(static_cast<ErrorCode>(code), message);
  } catch (...) { return std::current_exception(); }
}

std::uint64_t StateReader::replay() {
  if (!next_is(StateItem::Replay)) return 0;
  demand(StateItem::Replay, "the number of elements to replay");
  const std::uint64_t count = varint();
  if (count > kMostReplaysPerByte * remaining()) fail(fmt::format("{} elements are to be replayed", count));
  return count;
}

void StateReader::fail(std::string_view why) const {
  has_failed_ = true;
  throw DataLossError("the saved state of an input pipeline is damaged at byte {}: {}", offset_, why);
}

std::string_view StateReader::take(std::uint64_t size) {
  if (size > remaining()) fail(fmt::format("it ends early, {} bytes are wanted", size));
  const std::string_view piece = bytes_.substr(offset_, static_cast<std::size_t>(size));
  offset_ += piece.size();
  return piece;
}

void StateReader::demand(StateItem item, std::string_view what) {
  if (static_cast<std::uint8_t>(take(1)[0]) != static_cast<std::uint8_t>(item))
    fail(fmt::format("{} is not there", what));
}

std::uint64_t StateReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(take(1)[0]);
    if (shift == 63 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail("a number has more than 64 bits");
}

std::optional<SourceDigest> digest_of_strings(const Element& element) {
  constexpr std::string_view kEnd("\0", 1);
  std::size_t count = 0;
  std::uint32_t checksum = 0;
  for (const Tensor& component : element) {
    if (component.dtype() != DType::String) continue;
    for (const std::string& item : component.data<std::string>()) {
      checksum = crc32c::extend(crc32c::extend(checksum, base_name(item)), kEnd);
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return SourceDigest{.name = fmt::format("{} strings with the checksum {:08x}", count, checksum)};
}

void save_sources(const std::vector<SourceDigest>& sources, StateWriter& writer) {
  if (sources.empty()) return;
  writer.begin("sources");
  writer.integer(sources.size());
  for (const SourceDigest& source : sources) {
    writer.string(source.name);
    writer.boolean(source.size.has_value());
    writer.integer(source.size.value_or(0));
  }
  writer.end();
}

inline std::string text_of(const std::optional<SourceDigest>& digest) {
  if (!digest) return "nothing";
  return digest->size ? fmt::format("{} of {} bytes", digest->name, *digest->size) : digest->name;
}

inline bool same_source(const SourceDigest& a, const SourceDigest& b) noexcept {
  return a.name == b.name && (!a.size || !b.size || a.size == b.size);
}

bool check_sources(const std::vector<SourceDigest>& sources, StateReader& reader) {
  if (!reader.at_section()) return false;
  std::string difference;
  reader.begin("sources");
  const std::uint64_t count = reader.integer("the number of sources");
  for (std::uint64_t i = 0; i < count || i < sources.size(); ++i) {
    std::optional<SourceDigest> saved, now;
    if (i < count) {
      saved = SourceDigest{.name = std::string(reader.string("the name of a source"))};
      const bool has_size = reader.boolean("whether the size of a source is known");
      const std::uint64_t size = reader.integer("the size of a source");
      if (has_size) saved->size = size;
    }
    if (i < sources.size()) now = sources[static_cast<std::size_t>(i)];
    if (!difference.empty() || (saved && now && same_source(*saved, *now))) continue;
    difference = fmt::format("source {} was {}, here it is {}", i + 1, text_of(saved), text_of(now));
  }
  reader.end();
  if (difference.empty()) return false;
  if (!reader.allows_changed_sources()) {
    throw InvalidArgumentError(
        "the input pipeline reads other data than when this state was saved: {}; give it the same files in the same "
        "order, start without this state, or call allow_changed_sources() on the dataset to go on with the new data",
        difference);
  }
  log_warning("the input pipeline reads other data than when its state was saved: {}; it goes on at the saved position",
              difference);
  return true;
}

}  // namespace trainhook::detail
