// SPDX-License-Identifier: Apache-2.0
/// @file
/// DirectoryLock: whether a saver keeps other processes out of its directory.
#pragma once

namespace trainhook {

/// Whether a hook that saves checkpoints locks its directory, so that no other process saves there.
enum class DirectoryLock {
  /// Locks it. On a file system without locks the hook keeps a file `.checkpoint_lease` there, which it refreshes at
  /// each save and at least each minute, in `after_run`. The lease of a process of the same machine holds as long as
  /// that process lives; that of another machine holds until it has not been refreshed for three minutes, by the file
  /// system's clock. Then it is taken over, and the former holder saves nothing more.
  Auto,
  /// Does not lock it: you see to it that no other process saves there. If one does, checkpoints of both may be lost.
  None,
};

}  // namespace trainhook
