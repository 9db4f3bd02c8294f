// SPDX-License-Identifier: Apache-2.0
/// @file
/// The protocol by which the files of a checkpoint are written, replaced and removed, and how a crash is repaired.
///
/// `m-1` is a prefix, N a random number of the writer or the removal. Every temporary name ends in `.tempstateN`, as
/// TensorFlow's do, but N tells ours apart (`is_temporary_number`); readers look for `*.index` and so ignore such
/// files. "Sync" means the directory; each file is synced when it is written, before it is renamed.
///
///     save, if there is no m-1.index
///       1  write m-1.data-*.tempstateN, m-1.meta.tempstateN, then m-1.index.tempstateN; sync
///       2  rename the data and .meta to their final names; sync
///       3  rename the index to its final name: now the checkpoint exists; sync
///     save by several processes, which all use the same N; part 0 commits
///       1  each other part writes m-1.data-r-of-*.tempstateN and sends its entries to part 0, which then saves
///     replacement, if m-1.index exists
///       1  as above: the new checkpoint is complete and durable beside the old one
///       2  rename m-1.index to m-1.index.replaced.tempstateN: now the new checkpoint is valid; sync
///       3  remove data of another number of shards, and .meta if the new one has none; sync
///       4  rename the data; sync; rename .meta; sync; rename the index; sync
///       5  remove m-1.index.replaced.tempstateN
///     removal
///       1  rename m-1.index to m-1.index.tempstateN: now the checkpoint does not exist; sync
///       2  remove the data and .meta; sync
///       3  remove m-1.index.tempstateN
///     each checkpoint that a state file is to list
///       before the save: create m-1.index.unlisted.tempstateN, which step 1 makes durable
///       when the state file lists m-1: remove it
///     removal of one that must not be listed while it goes (of an input)
///       before the state file omits it: create m-1.index.unlisted.tempstateN; sync
///       after its removal: remove it
///     a checkpoint that is neither listed nor marked is a copy or permanent: it is never removed, and a save of its
///     name is an error unless the run has listed a step as late as that.
///
/// What a crash leaves behind, and how it is repaired:
///
///     m-1.index.replaced.tempstateN, no m-1.index     a replacement after its step 2. Readers use the new checkpoint
///                                                     with its temporary names; the next start, or the next writer of
///                                                     the prefix, does the remaining steps.
///     m-1.index.tempstateN, no m-1.index              a save that was not committed, or a removal: the next start
///                                                     removes the files of m-1, and this file last.
///     m-1.index.unlisted.tempstateN beside m-1.index  a saver wrote m-1 but did not list it: the next saver in the
///                                                     directory lists m-1 as its own, and removes this file.
///     m-1.index.unlisted.tempstateN alone             a save that did not begin or was not committed: the next start
///                                                     removes it.
///     m-1.data-r-of-*.tempstateN alone                a part of a save by several processes: the next start removes
///                                                     it.
///     other temporary names beside m-1.index          left by a save or a replacement: the next start removes them.
///     names with numbers that are not ours            of another program, or of a version before these numbers: left
///                                                     alone and logged.
///     m-1.data-* without any of these                 not ours (for example a copy in progress): left alone and
///                                                     logged.
///
/// "The next start" is `finish_interrupted_saves`, which a process calls after it has locked the directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// A new random ending for the temporary files of one writer or removal.
TRAINHOOK_DECL std::string bundle_temporary_suffix();

/// Whether it is the name of one of this library's temporary files: `*.tempstate<digits>` or `*.tmp<16 hex digits>`
/// with a number that `is_temporary_number` knows.
TRAINHOOK_DECL bool is_temporary_name(std::string_view name);

/// Whether it ends in `.tempstate<digits>`, as temporary files of other programs do, too.
TRAINHOOK_DECL bool has_temporary_form(std::string_view name);

/// The checkpoint that a data file belongs to: `m-1` of `m-1.data-00000-of-00001`.
TRAINHOOK_DECL std::optional<std::string_view> base_of_data(std::string_view name);

/// The parts of a temporary name: the checkpoint, and the ending of the name.
struct TemporaryIndex {
  std::string base{};
  std::string suffix{};
};

/// The parts of `m-1.index.tempstateN`.
TRAINHOOK_DECL std::optional<TemporaryIndex> temporary_index(std::string_view name);

/// The parts of `m-1.index.replaced.tempstateN`.
TRAINHOOK_DECL std::optional<TemporaryIndex> replaced_index(std::string_view name);

/// The parts of `m-1.index.unlisted.tempstateN`.
TRAINHOOK_DECL std::optional<TemporaryIndex> unlisted_index(std::string_view name);

/// The path of `m-1.index.unlisted.tempstateN`.
TRAINHOOK_DECL std::string unlisted_index_path(std::string_view prefix, std::string_view suffix);

/// The path of `m-1.index.replaced.tempstateN`.
TRAINHOOK_DECL std::string replaced_index_path(std::string_view prefix, std::string_view suffix);

/// The path of a shard before it is renamed. The final number of shards is unknown then; a temporary name does not need
/// it.
TRAINHOOK_DECL std::string temporary_data_path(std::string_view prefix, std::uint32_t shard, std::string_view suffix);

/// The longest path that a save of a step with many digits makes of `save_path`.
TRAINHOOK_DECL std::string longest_bundle_path(std::string_view save_path);

/// The location of a checkpoint's index.
struct BundleIndex {
  std::string path{};
  std::string suffix{};  ///< the ending of an interrupted replacement, whose files may still have temporary names
};

/// Finds a checkpoint's index, also after an interrupted replacement; nothing if there is no checkpoint.
TRAINHOOK_DECL std::optional<BundleIndex> find_bundle_index(FileSystem& file_system, const std::string& prefix);

/// Step 2 of a replacement. If it throws, nothing has changed.
TRAINHOOK_DECL void begin_replacement(FileSystem& file_system, const std::string& prefix, const std::string& suffix);

/// Does the remaining steps of a replacement. May be called again after it threw.
TRAINHOOK_DECL void complete_replacement(FileSystem& file_system, const std::string& prefix, const std::string& suffix);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/bundle/impl/bundle_protocol.ipp>
#endif
