// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of lock_holder.hpp.
#pragma once

#include <trainhook/checkpoint/lock_holder.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/random_number.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

LockHolder new_holder() { return {.process = this_process(), .id = fmt::format("{:016x}", random_number())}; }

std::string holder_text(std::string_view kind, const LockHolder& holder) {
  return fmt::format("trainhook {} 1\nhost {}\nboot {}\nprocess {}\nstart {}\nid {}\n{}", kind, holder.process.host,
                     holder.process.boot, holder.process.pid, holder.process.start, holder.id,
                     holder.is_ending ? kEndingLine : "");
}

std::optional<LockHolder> parse_holder(std::string_view text) {
  bool complete = true;
  const auto take_line = [&](std::string_view beginning) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || !text.starts_with(beginning)) {
      complete = false;
      return std::string();
    }
    std::string rest(text.substr(beginning.size(), end - (std::min)(end, beginning.size())));
    text.remove_prefix(end + 1);
    return rest;
  };
  LockHolder holder;
  const std::string kind = take_line("trainhook ");
  holder.process.host = take_line("host ");
  holder.process.boot = take_line("boot ");
  const std::string pid = take_line("process ");
  holder.process.start = take_line("start ");
  holder.id = take_line("id ");
  const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), holder.process.pid);
  if (!complete || error != std::errc{} || end != pid.data() + pid.size() || holder.id.empty()) return std::nullopt;
  if (kind != "lock 1" && kind != "lease 1") return std::nullopt;
  holder.is_ending = text.ends_with(kEndingLine);
  return holder;
}

bool is_holder_text(std::string_view text) {
  return text.starts_with("trainhook ") || text.find("\nboot ") != std::string_view::npos;
}

std::optional<std::string> read_holder_text(FileSystem& file_system, const std::string& path) {
  constexpr std::uint64_t kBeginning = 4096;  // the lines of the holder
  try {
    const std::unique_ptr<ReadableFile> file = file_system.open_readable(path);
    const std::uint64_t size = file->size();
    std::string text(static_cast<std::size_t>((std::min)(size, kBeginning)), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(text)));
    if (size <= kBeginning) return text;
    std::string last(kEndingLine.size(), '\0');
    file->read_at(size - last.size(), std::as_writable_bytes(std::span(last)));
    return text + last;
  } catch (const NotFoundError&) { return std::nullopt; }
}

std::optional<LockHolder> read_holder(FileSystem& file_system, const std::string& path) {
  const std::optional<std::string> text = read_holder_text(file_system, path);
  return text ? parse_holder(*text) : std::nullopt;
}

std::string holder_name(const std::optional<LockHolder>& holder) {
  return holder ? fmt::format("process {} on {}", holder->process.pid, holder->process.host)
                : std::string("a process that has not written its name yet");
}

}  // namespace trainhook::detail
