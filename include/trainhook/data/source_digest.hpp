// SPDX-License-Identifier: Apache-2.0
/// @file
/// SourceDigest: identifies the data that a pipeline's sources read, so that a restore notices other data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

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
#include <trainhook/data/impl/source_digest.ipp>
#endif
