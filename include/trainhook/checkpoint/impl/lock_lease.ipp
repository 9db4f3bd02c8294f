// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/lock_lease.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
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
  constexpr std::string_view kStart = "trainhook ";
  return text.starts_with(kStart) || kStart.starts_with(text) || text.find("\nboot ") != std::string_view::npos;
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

LockLease::LockLease(FileSystem& file_system, std::string path)
    : file_system_(file_system), path_(std::move(path)), me_(new_holder()) {
  constexpr int kMostAttempts = 100;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    try {
      create(path_);
      return;
    } catch (const AlreadyExistsError&) {
      if (take_over()) return;
    }
  }
  throw FailedPreconditionError("the lease {} comes and goes: other sessions want the same directory; use another",
                                path_);
}

LockLease::~LockLease() {
  if (!process_.is_here()) return;
  try {
    if (is_mine()) file_system_.remove_file(path_);
  } catch (...) {
    log_warning("the lease {} could not be removed; remove it, or the next session of this process is refused: {}",
                path_, describe(std::current_exception()));
  }
}

void LockLease::confirm(FunctionRef<void()> expect_untouched) {
  process_.expect_here(fmt::format("the lease {}", path_), "save there, or use another directory");
  refresh();
  const std::scoped_lock lock(mutex_);
  const std::optional<std::string> text = read_holder_text(file_system_, path_);
  if (!text) {
    expect_untouched();
    try {
      create(path_);
    } catch (const AlreadyExistsError& error) {
      throw FailedPreconditionError("the lease was removed, and another session has made a new one: {}", error.what());
    }
    log_warning(
        "the lease {} was removed and is recreated; "
        "leave it there, it keeps other processes from saving into the same directory",
        path_);
    return;
  }
  const std::optional<LockHolder> holder = parse_holder(*text);
  if (holder && holder->id == me_.id) return;
  throw FailedPreconditionError(
      "the lease {} now belongs to {}, because this session did not refresh it for {} s; it saves nothing more there. "
      "End one of the two, or give each its own directory",
      path_, holder_name(holder), std::chrono::duration_cast<std::chrono::seconds>(kStaleAfter).count());
}

void LockLease::refresh() noexcept {
  if (!process_.is_here()) return;
  try {
    const std::scoped_lock lock(mutex_);
    if (file_ == nullptr) {
      if (is_mine()) replace();
      return;
    }
    try {
      file_->append(me_.is_ending ? kEndingLine : "\n");
      file_->sync();
    } catch (...) {
      file_.reset();  // may accept nothing more
      throw;
    }
  } catch (...) {
    if (warned_.exchange(true)) return;
    log_warning("the lease {} could not be refreshed; another machine may take it over in {} s: {}", path_,
                std::chrono::duration_cast<std::chrono::seconds>(kStaleAfter).count(),
                describe(std::current_exception()));
  }
}

void LockLease::announce_end() noexcept {
  if (!process_.is_here()) return;
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(me_.is_ending, true)) return;
  }
  refresh();
}

bool LockLease::is_mine() const {
  const std::optional<LockHolder> holder = read_holder(file_system_, path_);
  return holder && holder->id == me_.id;
}

void LockLease::create(const std::string& path) {
  std::unique_ptr<WritableFile> file = file_system_.create_writable(path, WriteMode::Exclusive);
  try {
    file->append(holder_text("lease", me_));
    file->sync();
  } catch (...) {
    remove_silently(file_system_, path);
    throw;
  }
  file_ = std::move(file);
}

void LockLease::replace() {
  const std::string path = temporary();
  create(path);
  try {
    file_system_.rename(path, path_);
  } catch (...) {
    file_.reset();
    remove_silently(file_system_, path);
    throw;
  }
}

bool LockLease::take_over() {
  const std::optional<std::string> before = read_holder_text(file_system_, path_);
  if (!before) return false;
  const std::optional<LockHolder> holder = parse_holder(*before);
  const std::string path = temporary();
  create(path);
  try {
    const std::string reason = why_free(holder, path);
    if (read_holder_text(file_system_, path_) != before) {
      throw FailedPreconditionError("another session has just taken the lease {}; end it or use another directory",
                                    path_);
    }
    file_system_.rename(path, path_);
    log_warning("The lease {} is taken over from {}: {}.", path_, holder_name(holder), reason);
    return true;
  } catch (...) {
    file_.reset();
    remove_silently(file_system_, path);
    if (is_any_of<NotFoundError>(std::current_exception())) return false;  // its holder has removed it
    throw;
  }
}

std::string LockLease::why_free(const std::optional<LockHolder>& holder, const std::string& written_now) const {
  const std::optional<bool> alive = holder ? is_alive(holder->process) : std::nullopt;
  if (alive == false) return "that process has ended";
  if (alive == true) {
    throw FailedPreconditionError(
        "another process or session uses this directory: {} has the lease {}; end it or use another directory",
        holder_name(holder), path_);
  }
  const double silent = file_system_.modification_time(written_now) - file_system_.modification_time(path_);
  const double limit = std::chrono::duration<double>(kStaleAfter).count();
  if (silent >= limit) return fmt::format("it has not refreshed it for {:.0f} s", silent);
  throw FailedPreconditionError(
      "another process or session uses this directory: {} has the lease {} and refreshed it {:.0f} s ago; end it or "
      "use another directory. If it has ended, wait: {:.0f} s after the last refresh the lease is free",
      holder_name(holder), path_, (std::max)(silent, 0.0), limit);
}

std::string LockLease::temporary() const { return fmt::format("{}.tmp{}", path_, me_.id); }

}  // namespace trainhook::detail
