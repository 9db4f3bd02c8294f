// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/process_identity.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/posix_file.hpp>

namespace trainhook::detail {

/// The beginning of a file of the system, which says of itself that it has no bytes; empty if there is none.
inline std::string system_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return {};
  std::array<char, 4096> bytes{};
  const ssize_t got = ::read(file.number(), bytes.data(), bytes.size());
  std::string text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// The n-th field of /proc/<pid>/stat after the program's name, counted from 0; empty if there is none.
inline std::string process_field(std::int64_t pid, int n) {
  const std::string text = system_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = text.rfind(") ");  // the name may hold anything
  if (name_end == std::string::npos) return {};
  std::string_view rest = std::string_view(text).substr(name_end + 2);
  for (; n > 0 && !rest.empty(); --n) rest.remove_prefix((std::min)(rest.find(' '), rest.size() - 1) + 1);
  return std::string(rest.substr(0, rest.find(' ')));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  std::string host = name.data();
  std::ranges::replace(host, '/', '_');
  return host;
}

inline constexpr int kStartField = 19;  // field 22 of all

ProcessIdentity this_process() {
  std::array<char, 64> container{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", container.data(), container.size());
  const std::string boot = system_file("/proc/sys/kernel/random/boot_id");
  ProcessIdentity process{.host = host_name(), .pid = ::getpid()};
  if (!boot.empty() && length > 0)
    process.boot = fmt::format("{}/{}", boot, std::string_view(container.data(), static_cast<std::size_t>(length)));
  process.start = process_field(process.pid, kStartField);
  return process;
}

std::string command_line() {
  std::string text = system_file("/proc/self/cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

/// CRC32C of a file; 0 if it cannot be read.
inline std::uint32_t file_digest(const char* path) {
  const FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return 0;
  std::vector<std::byte> bytes(std::size_t{1} << 20);
  std::uint32_t digest = 0;
  ssize_t got = 0;
  while ((got = ::read(file.number(), bytes.data(), bytes.size())) > 0)
    digest = crc32c::extend(digest, std::span(bytes).first(static_cast<std::size_t>(got)));
  return got < 0 ? 0 : digest;
}

std::uint32_t program_digest() {
  static const std::uint32_t digest = file_digest("/proc/self/exe");
  return digest;
}

std::optional<bool> is_alive(const ProcessIdentity& process) {
  constexpr int kStateField = 0;
  const ProcessIdentity here = this_process();
  if (process.host != here.host || process.boot != here.boot || process.pid <= 0) return std::nullopt;
  if (::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return false;
  const std::string state = process_field(process.pid, kStateField);
  if (state == "Z" || state == "X") return false;  // has ended, and its parent has not asked for its result yet
  const std::string start = process_field(process.pid, kStartField);
  return start.empty() || process.start.empty() || start == process.start;
}

}  // namespace trainhook::detail
