// SPDX-License-Identifier: Apache-2.0
/// @file
/// Log lines of the library, and the sink that receives them, which a program can replace; and which terminals take
/// escape sequences.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <trainhook/core/format.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

enum class LogLevel { Info, Warning, Error };

/// Receives one line, without its newline. Called from any thread, but never from two at once, and no lock is held
/// meanwhile: while it waits, lines of other threads wait in memory. Must not throw; what it logs itself is dropped. In
/// a job of several MPI processes, a line begins with the rank: `[rank 2] `.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

/// Sends all later lines to `sink`; an empty `sink` restores the default, standard error. Returns the previous sink.
/// What it refers to must outlive every session: one of namespace scope logs while the process ends.
/// A shared library that has trainhook in itself, with hidden symbols, has a sink of its own.
TRAINHOOK_DECL LogSink set_log_sink(LogSink sink);

namespace detail {
struct LogState;
TRAINHOOK_DECL LogState& log_state();

/// What this thread does with the log.
enum class LogUse;
TRAINHOOK_DECL LogUse& log_use() noexcept;

/// All later lines begin with `prefix`, whatever the sink.
TRAINHOOK_DECL void set_log_prefix(std::string prefix);

TRAINHOOK_DECL void log_line(LogLevel level, fmt::string_view format, fmt::format_args args) noexcept;

/// Logs an error line for a process that ends now. Waits five seconds at most: a sink may hang, and nobody may read
/// standard error.
TRAINHOOK_DECL void log_last_line(const std::string& line) noexcept;

/// Whether `file` is a terminal that takes escape sequences: not one without them (`TERM=dumb`), nor one of a user who
/// wants none (`NO_COLOR`).
[[nodiscard]] TRAINHOOK_DECL bool takes_escapes(std::FILE* file) noexcept;
}  // namespace detail

/// Logs one line; the format string is checked at compile time: `log_info("saved {} in {}", path, time)`.
template <class... Args>
void log_info(fmt::format_string<const Args&...> format, const Args&... args) {
  detail::log_line(LogLevel::Info, detail::format_text(format), fmt::make_format_args(args...));
}

template <class... Args>
void log_warning(fmt::format_string<const Args&...> format, const Args&... args) {
  detail::log_line(LogLevel::Warning, detail::format_text(format), fmt::make_format_args(args...));
}

template <class... Args>
void log_error(fmt::format_string<const Args&...> format, const Args&... args) {
  detail::log_line(LogLevel::Error, detail::format_text(format), fmt::make_format_args(args...));
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/log.ipp>
#endif
