// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProgressLine: one line on a terminal that is overwritten, or plain lines elsewhere.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Receives text for output, with newlines and control characters. Must not throw.
using ProgressSink = std::function<void(std::string_view text)>;

/// A sink that writes to a C file and flushes it.
[[nodiscard]] TRAINHOOK_DECL ProgressSink progress_to(std::FILE* file);

/// On a terminal each text replaces the previous one, and the cursor stays at the start of the line, so that other
/// output overwrites it. At the end the cursor is on an empty line.
class ProgressLine {
 public:
  TRAINHOOK_DECL ProgressLine(ProgressSink sink, bool on_terminal, std::size_t width);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  TRAINHOOK_DECL ~ProgressLine();

  [[nodiscard]] bool on_terminal() const noexcept { return on_terminal_; }

  TRAINHOOK_DECL void show(std::string text);

  /// Writes the last text, not truncated, with a newline.
  TRAINHOOK_DECL void finish(std::string text);

 private:
  ProgressSink sink_;
  bool on_terminal_;
  std::size_t width_;
  bool is_open_ = false;  // the cursor's line has text
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/text/impl/progress_line.ipp>
#endif
