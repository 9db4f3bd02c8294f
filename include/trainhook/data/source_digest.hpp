// SPDX-License-Identifier: Apache-2.0
/// @file
/// SourceDigest: which data the sources of a pipeline read, so that a restore notices other data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

/// One file, by its name and size, or a list of strings in memory, by a checksum. Folders and times do not count, since
/// data may move between two runs.
struct SourceDigest {
  std::string name{};
  std::optional<std::uint64_t> size{};  ///< in bytes; of a file that is not there now, unknown
};

/// The digest of the strings in `element`, which may be the paths of files: of each the part after its last `/`.
/// Nothing if it has none.
[[nodiscard]] TRAINHOOK_DECL std::optional<SourceDigest> digest_of_strings(const Element& element);

/// Adds the digests of the pipeline's sources to its saved state.
TRAINHOOK_DECL void save_sources(const std::vector<SourceDigest>& sources, StateWriter& writer);

/// Compares them with those that were saved. A state of an earlier version has none and is accepted.
/// @returns whether some differ, after a warning, if the reader allows that. @throws InvalidArgumentError, naming the
/// first that differs, if it does not.
TRAINHOOK_DECL bool check_sources(const std::vector<SourceDigest>& sources, StateReader& reader);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/source_digest.ipp>
#endif
