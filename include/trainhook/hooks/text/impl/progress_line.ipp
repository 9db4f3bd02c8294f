// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/text/progress_line.hpp>

#include <utility>

#include <trainhook/core/utf8.hpp>
#include <trainhook/core/write_signals.hpp>

namespace trainhook::detail {

ProgressSink progress_to(std::FILE* file) {
  return [file](std::string_view text) {
    const NoWriteSignals no_signals;
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  };
}

ProgressLine::ProgressLine(ProgressSink sink, bool on_terminal, std::size_t width)
    : sink_(std::move(sink)), on_terminal_(on_terminal), width_(width) {}

ProgressLine::~ProgressLine() {
  if (is_open_) sink_("\n");
}

void ProgressLine::show(std::string text) {
  if (on_terminal_) {
    text.resize(utf8_prefix(text, width_).size());  // one that wraps could not be written over
    text += "\x1b[K\r";
  } else {
    text += '\n';
  }
  sink_(text);
  is_open_ = on_terminal_;
}

void ProgressLine::finish(std::string text) {
  text += on_terminal_ ? "\x1b[K\n" : "\n";
  sink_(text);
  is_open_ = false;
}

}  // namespace trainhook::detail
