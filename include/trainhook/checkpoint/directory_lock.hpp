// SPDX-License-Identifier: Apache-2.0
/// @file
/// DirectoryLock: whether a saver locks its directory against other processes.
#pragma once

namespace trainhook {

/// Whether a hook that saves checkpoints locks its directory against other processes.
enum class DirectoryLock {
  /// Locks it. On a file system without locks the hook keeps a file `.checkpoint_lease`, which it refreshes at each
  /// save and at least every minute, in `after_run`. The lease of a process on the same machine is valid as long as
  /// that process lives; the lease of another machine expires three minutes after its last refresh, by the file
  /// system's clock. Then another process takes it over, and the former holder saves nothing more. The same is true if
  /// the file of a lock or lease was removed and another session has the directory or has saved a newer checkpoint
  /// there. A new session waits at most 10 s for a holder of the same machine that is ending.
  Auto,
  /// Does not lock it: you make sure that no other process saves there. If one does, checkpoints of both may be lost.
  None,
};

}  // namespace trainhook
