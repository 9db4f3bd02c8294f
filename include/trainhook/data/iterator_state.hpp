// SPDX-License-Identifier: Apache-2.0
/// @file
/// StateWriter and StateReader: the saved state of an input pipeline as bytes. The reader checks everything.
/// SourceDigest: identifies the data that a pipeline's sources read, so that a restore notices other data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/random.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/element.hpp>

namespace trainhook::detail {

// clang-format off
/// An item of a state, which is a sequence of them. Never renumber.
enum class StateItem : std::uint8_t {
  // kind        what follows the byte of the kind
  Integer  = 1,  // varint
  Bytes    = 2,  // varint length, bytes
  Integers = 3,  // varint count, varints
  Tensor   = 4,  // varint dtype, varint number of dimensions, varint dims, elements; each text with its varint length
  Begin    = 5,  // varint length, name of the section that begins
  End      = 6,  // nothing: the section ends
  Error    = 7,  // varint code, varint length, message
  Replay   = 8,  // varint count of the elements that are read again and dropped
};
// clang-format on
// A varint has seven bits per byte, lowest first; the high bit means that more bytes follow.

/// Collects the state of a pipeline's stages.
class StateWriter {
 public:
  /// With `allow_external_state`, a stage that cannot save all of its state saves what it can instead of throwing.
  explicit StateWriter(bool allow_external_state = false) noexcept : allow_external_state_(allow_external_state) {}

  /// Call it if a stage cannot save all of its state; `what` says what is missing.
  /// @throws FailedPreconditionError unless external state is allowed.
  TRAINHOOK_DECL void add_external_state(std::string_view what);

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

  TRAINHOOK_DECL void begin(std::string_view section);
  void end() { tag(StateItem::End); }

  TRAINHOOK_DECL void integer(std::uint64_t value);
  void boolean(bool value) { integer(value ? 1 : 0); }
  TRAINHOOK_DECL void string(std::string_view value);
  TRAINHOOK_DECL void integers(std::span<const std::int64_t> values);
  TRAINHOOK_DECL void random(const PhiloxState& state);
  TRAINHOOK_DECL void element(const Element& element);
  TRAINHOOK_DECL void tensor(const Tensor& tensor);
  /// Writes an error in the place of an element: its code and its message.
  TRAINHOOK_DECL void error(const std::exception_ptr& error);
  /// Writes nothing if `count` is 0.
  TRAINHOOK_DECL void replay(std::uint64_t count);
  /// Appends everything that another writer has collected.
  TRAINHOOK_DECL void append(const StateWriter& part);

 private:
  TRAINHOOK_DECL void tag(StateItem item);
  TRAINHOOK_DECL void varint(std::uint64_t value);
  TRAINHOOK_DECL void text(std::string_view value);

  std::string bytes_;
  std::string external_state_;  // the first piece that is missing
  bool allow_external_state_;
};

/// Reads what a `StateWriter` wrote, in the same order. Every member throws DataLossError if the next item is not of
/// the requested kind, or is damaged.
class StateReader {
 public:
  /// With `allow_changed_sources`, it is only a warning if the sources read other data than when the state was saved.
  explicit StateReader(std::string_view bytes, bool allow_changed_sources = false) noexcept
      : bytes_(bytes), allow_changed_sources_(allow_changed_sources) {}

  [[nodiscard]] bool allows_changed_sources() const noexcept { return allow_changed_sources_; }
  [[nodiscard]] bool at_end() const noexcept { return offset_ == bytes_.size(); }

  TRAINHOOK_DECL void begin(std::string_view section);
  TRAINHOOK_DECL void end();

  /// An integer in [0, most].
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t integer(std::string_view what, std::uint64_t most = ~std::uint64_t{0});
  /// A count or position in [0, most].
  [[nodiscard]] TRAINHOOK_DECL std::int64_t position(std::string_view what, std::int64_t most = INT64_MAX);
  [[nodiscard]] bool boolean(std::string_view what) { return integer(what, 1) == 1; }
  [[nodiscard]] TRAINHOOK_DECL std::string_view string(std::string_view what);
  /// At most `most_items` integers in [0, below).
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::int64_t> integers(std::string_view what, std::size_t most_items,
                                                                  std::int64_t below);
  [[nodiscard]] TRAINHOOK_DECL PhiloxState random();
  /// An element that matches `spec`.
  [[nodiscard]] TRAINHOOK_DECL Element element(const ElementSpec& spec);
  [[nodiscard]] TRAINHOOK_DECL Tensor tensor();

  /// Whether the next item is the beginning of a section.
  [[nodiscard]] bool at_section() const noexcept { return next_is(StateItem::Begin); }
  /// Reads an error; null if the next item is of another kind.
  [[nodiscard]] TRAINHOOK_DECL std::exception_ptr error();
  /// Reads the count of elements to replay; 0 if the next item is of another kind. Rejects a count that is too large
  /// for the position that follows.
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t replay();

  /// @throws DataLossError with the position in the state.
  [[noreturn]] TRAINHOOK_DECL void fail(std::string_view why) const;

  /// False after a DataLossError that is not about the state: a source or a function of the pipeline threw it.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

 private:
  [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size() - offset_; }
  TRAINHOOK_DECL std::string_view take(std::uint64_t size);
  std::string_view text() { return take(varint()); }
  [[nodiscard]] bool next_is(StateItem item) const noexcept {
    return remaining() > 0 && static_cast<std::uint8_t>(bytes_[offset_]) == static_cast<std::uint8_t>(item);
  }
  TRAINHOOK_DECL void demand(StateItem item, std::string_view what);
  TRAINHOOK_DECL std::uint64_t varint();

  std::string_view bytes_;
  std::size_t offset_ = 0;
  bool allow_changed_sources_;
  mutable bool has_failed_ = false;
};

/// Identifies a file by its name and size, or a list of strings in memory by a checksum. Ignores folders and times,
/// because data may move between two runs.
struct SourceDigest {
  std::string name{};
  std::optional<std::uint64_t> size{};  ///< in bytes; unknown if the file is missing now
};

/// Returns the digest of the strings in `element`, or nothing if it has none. They may be paths of files, so only the
/// part after the last `/` counts.
[[nodiscard]] TRAINHOOK_DECL std::optional<SourceDigest> digest_of_strings(const Element& element);

/// Adds the digests of the pipeline's sources to its saved state.
TRAINHOOK_DECL void save_sources(const std::vector<SourceDigest>& sources, StateWriter& writer);

/// Compares the digests with the saved ones. A state of an earlier version has none and is accepted.
/// @returns true, after a warning, if some differ and the reader allows that. @throws InvalidArgumentError, naming the
/// first that differs, if it does not.
TRAINHOOK_DECL bool check_sources(const std::vector<SourceDigest>& sources, StateReader& reader);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/iterator_state.ipp>
#endif
