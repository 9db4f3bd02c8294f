// SPDX-License-Identifier: Apache-2.0
/// @file
/// OnExisting: what a training session does if its directory has checkpoints of an earlier run.
#pragma once

#include <string>

#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

class Clock;
class FileSystem;

/// What a training session does if its directory has checkpoints.
enum class OnExisting {
  /// Continues from the newest good one.
  Resume,
  /// Renames the directory `run` to `run.1`, or the next free number, and starts from initial values. If `run` is
  /// a link, the directory that it leads to is renamed, and the link leads to a new one. Do not use it in programs that
  /// are restarted automatically: each restart would start over.
  StartFresh,
  /// Throws AlreadyExistsError.
  Fail,
};

namespace detail {

/// Does it, before a session is created. @throws FailedPreconditionError if another process currently saves to the
/// directory.
TRAINHOOK_DECL void prepare_directory(FileSystem& file_system, Clock& clock, const std::string& directory,
                                      OnExisting on_existing, DirectoryLock directory_lock);

}  // namespace detail

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/on_existing.ipp>
#endif
