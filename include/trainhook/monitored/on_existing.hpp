// SPDX-License-Identifier: Apache-2.0
/// @file
/// OnExisting: what a training session does if its directory holds an earlier run.
#pragma once

#include <string>

#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

class FileSystem;

/// What a training session does if its directory holds checkpoints.
enum class OnExisting {
  /// Goes on from the newest good one.
  Resume,
  /// Renames the directory `run` to `run.1`, or the next number that is free, and starts from initial values. What
  /// restarts the program after a failure must not give it, or each restart loses its progress to another directory.
  StartFresh,
  /// Throws AlreadyExistsError.
  Fail,
};

namespace detail {

/// Does that before a session is made. @throws FailedPreconditionError if another process saves to the directory now.
TRAINHOOK_DECL void prepare_directory(FileSystem& file_system, const std::string& directory, OnExisting on_existing,
                                      DirectoryLock directory_lock);

}  // namespace detail

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/on_existing.ipp>
#endif
