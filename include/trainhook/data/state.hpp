// SPDX-License-Identifier: Apache-2.0
/// @file
/// The saved state of an input pipeline as bytes: a writer, and a reader that trusts nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/random.hpp>
#include <trainhook/data/element.hpp>

namespace trainhook {

/// What to do with state that lives outside of a pipeline and so cannot be saved with it, as in `tf.data`.
enum class ExternalStatePolicy { Fail, Warn, Ignore };

// A state is a sequence of items, each of which starts with a byte that says what it is (never renumber):
//   1 integer: varint                          2 bytes: varint length, bytes
//   3 integers: varint count, varints          4 tensor: varint dtype, varint rank, dims, then the elements: bytes, or for
//   5 section begins: varint length, name        strings each with its varint length
//   6 section ends
// Varints have seven bits a byte, the lowest first; the high bit says that more follow.
namespace detail {
enum class StateItem : std::uint8_t { Integer = 1, Bytes = 2, Integers = 3, Tensor = 4, Begin = 5, End = 6 };
}  // namespace detail

/// Collects the state of a pipeline's stages.
class StateWriter {
 public:
  /// With `allow_external_state` a stage that cannot save all of its state saves what it can, instead of throwing.
  explicit StateWriter(bool allow_external_state = false) noexcept : allow_external_state_(allow_external_state) {}

  [[nodiscard]] bool allows_external_state() const noexcept { return allow_external_state_; }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

  void begin(std::string_view section) {
    tag(detail::StateItem::Begin);
    text(section);
  }
  void end() { tag(detail::StateItem::End); }

  void integer(std::uint64_t value) {
    tag(detail::StateItem::Integer);
    varint(value);
  }
  void boolean(bool value) { integer(value ? 1 : 0); }
  void string(std::string_view value) {
    tag(detail::StateItem::Bytes);
    text(value);
  }
  void integers(std::span<const std::int64_t> values) {
    tag(detail::StateItem::Integers);
    varint(values.size());
    for (std::int64_t value : values) varint(static_cast<std::uint64_t>(value));
  }
  void random(const PhiloxState& state) {
    integer(state.seed);
    integer(state.stream);
    integer(state.position);
  }
  void element(const Element& element) {
    integer(element.size());
    for (const Tensor& component : element) tensor(component);
  }
  void tensor(const Tensor& tensor) {
    tag(detail::StateItem::Tensor);
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

 private:
  void tag(detail::StateItem item) { bytes_.push_back(static_cast<char>(item)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  void text(std::string_view value) {
    varint(value.size());
    bytes_.append(value);
  }

  std::string bytes_;
  bool allow_external_state_;
};

/// Reads what a `StateWriter` wrote, in the same order. Every member throws DataLossError where the bytes do not hold what is asked for.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const noexcept { return offset_ == bytes_.size(); }

  void begin(std::string_view section) {
    expect(detail::StateItem::Begin, section);
    const std::string_view found = text();
    if (found != section) fail(str_cat("it holds a section '", found, "' where '", section, "' belongs"));
  }
  void end() { expect(detail::StateItem::End, "the end of a section"); }

  /// An integer of [0, most].
  [[nodiscard]] std::uint64_t integer(std::string_view what, std::uint64_t most = ~std::uint64_t{0}) {
    expect(detail::StateItem::Integer, what);
    const std::uint64_t value = varint();
    if (value > most) fail(str_cat(what, " is ", value, ", above ", most));
    return value;
  }
  /// A count or position of [0, most].
  [[nodiscard]] std::int64_t position(std::string_view what, std::int64_t most = INT64_MAX) {
    return static_cast<std::int64_t>(integer(what, static_cast<std::uint64_t>(most)));
  }
  [[nodiscard]] bool boolean(std::string_view what) { return integer(what, 1) == 1; }
  [[nodiscard]] std::string_view string(std::string_view what) {
    expect(detail::StateItem::Bytes, what);
    return text();
  }
  /// At most `most_items` integers of [0, below).
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view what, std::size_t most_items, std::int64_t below) {
    expect(detail::StateItem::Integers, what);
    const std::uint64_t count = varint();
    if (count > remaining() || count > most_items) fail(str_cat(what, " has ", count, " entries, which cannot be"));
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    for (std::int64_t& value : values) {
      const std::uint64_t read = varint();
      if (below <= 0 || read >= static_cast<std::uint64_t>(below)) fail(str_cat(what, " holds ", read, ", not below ", below));
      value = static_cast<std::int64_t>(read);
    }
    return values;
  }
  [[nodiscard]] PhiloxState random() {
    PhiloxState state;
    state.seed = integer("a seed");
    state.stream = integer("a random stream");
    state.position = integer("a random position");
    return state;
  }
  /// An element as `spec` describes it.
  [[nodiscard]] Element element(const ElementSpec& spec) {
    const std::uint64_t count = integer("the number of components");
    if (count != spec.size()) fail(str_cat("an element has ", count, " components instead of ", spec.size()));
    Element element;
    for (std::size_t i = 0; i < spec.size(); ++i) element.push_back(tensor());
    if (!detail::matches(spec, element))
      fail(str_cat("an element is ", spec_to_string(spec_of(element)), " instead of ", spec_to_string(spec)));
    return element;
  }
  [[nodiscard]] Tensor tensor() {
    expect(detail::StateItem::Tensor, "a tensor");
    const std::uint64_t number = varint();
    if (number > 255 || detail::find_dtype(static_cast<DType>(number)) == nullptr) fail(str_cat("a tensor has dtype number ", number));
    const auto dtype = static_cast<DType>(number);
    const std::uint64_t rank = varint();
    if (rank > kMaxRank) fail(str_cat("a tensor has rank ", rank));
    std::vector<std::int64_t> dims(static_cast<std::size_t>(rank));
    std::uint64_t elements = 1;
    for (std::int64_t& dim : dims) {
      const std::uint64_t read = varint();
      if (read > INT64_MAX || __builtin_mul_overflow(elements, read, &elements) || elements > INT64_MAX)
        fail("the shape of a tensor overflows");
      dim = static_cast<std::int64_t>(read);
    }
    const std::uint64_t least = dtype == DType::String ? 1 : dtype_size(dtype);
    if (elements > remaining() / least) fail("a tensor is larger than what is left of the state");
    Tensor tensor = Tensor::uninitialized(dtype, Shape(dims));
    if (dtype == DType::String) {
      for (std::string& item : tensor.overwrite_data<std::string>()) item = text();
    } else if (const std::span<std::byte> raw = tensor.overwrite_bytes(); !raw.empty()) {
      std::memcpy(raw.data(), take(raw.size()).data(), raw.size());
      const bool bad = dtype == DType::Bool && std::ranges::any_of(raw, [](std::byte value) { return value > std::byte{1}; });
      if (bad) fail("a truth value is neither 0 nor 1");
    }
    return tensor;
  }

  /// @throws DataLossError that says where in the state the trouble is.
  [[noreturn]] void fail(std::string_view why) const {
    throw DataLossError("the saved state of an input pipeline is damaged at byte ", offset_, ": ", why);
  }

 private:
  [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size() - offset_; }
  std::string_view take(std::uint64_t size) {
    if (size > remaining()) fail(str_cat("it ends early, ", size, " bytes are wanted"));
    const std::string_view piece = bytes_.substr(offset_, static_cast<std::size_t>(size));
    offset_ += piece.size();
    return piece;
  }
  std::string_view text() { return take(varint()); }
  void expect(detail::StateItem item, std::string_view what) {
    if (static_cast<std::uint8_t>(take(1)[0]) != static_cast<std::uint8_t>(item)) fail(str_cat(what, " is not there"));
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take(1)[0]);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number has more than 64 bits");
  }

  std::string_view bytes_;
  std::size_t offset_ = 0;
};

}  // namespace trainhook
