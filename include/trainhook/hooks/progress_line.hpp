// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProgressLine: one line on a terminal that is written over and over, or plain lines elsewhere.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Takes text as it is to appear, line ends and control characters included. Must not throw.
using ProgressSink = std::function<void(std::string_view text)>;

/// Writes to a file of the C library, at once.
[[nodiscard]] TRAINHOOK_DECL ProgressSink progress_to(std::FILE* file);

[[nodiscard]] TRAINHOOK_DECL bool is_terminal(std::FILE* file) noexcept;

/// On a terminal each text takes the place of the one before, and the cursor stays at the start of the line, so that
/// whatever else is printed covers it. However it ends, the cursor is on a line of its own afterwards.
class ProgressLine {
 public:
  TRAINHOOK_DECL ProgressLine(ProgressSink sink, bool on_terminal, std::size_t width);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  TRAINHOOK_DECL ~ProgressLine();

  [[nodiscard]] bool on_terminal() const noexcept { return on_terminal_; }

  TRAINHOOK_DECL void show(std::string text);

  /// The last text, whole, with its line end.
  TRAINHOOK_DECL void finish(std::string text);

 private:
  ProgressSink sink_;
  bool on_terminal_;
  std::size_t width_;
  bool is_open_ = false;  // the line of the cursor has text
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/progress_line.ipp>
#endif
