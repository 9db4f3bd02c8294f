// SPDX-License-Identifier: Apache-2.0
/// @file
/// NoWriteSignals: a write that fails is an error, and not the end of the process.
#pragma once

#include <csignal>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// While it exists, a write of this thread into a pipe that nobody reads, or beyond `ulimit -f`, fails and raises
/// neither SIGPIPE nor SIGXFSZ. Changes no handler; a signal of another process still comes.
class NoWriteSignals {
 public:
  TRAINHOOK_DECL NoWriteSignals() noexcept;
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;
  /// Keeps `errno`.
  TRAINHOOK_DECL ~NoWriteSignals();

 private:
  ::sigset_t before_;
  bool had_pipe_;  // was pending already
  bool had_size_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/write_signals.ipp>
#endif
