// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/posix_file.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <trainhook/core/error.hpp>
#include <trainhook/core/write_signals.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

/// The open file of this process that a path such as `/proc/self/fd/1` names. It is written through its descriptor:
/// opened again, a file would be written from its start.
inline std::optional<int> own_descriptor(std::string_view location) {
  const std::string directory = parent_path(location);
  if (directory != "/proc/self/fd" && directory != "/dev/fd") return std::nullopt;
  const std::string_view name = base_name(location);
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

inline PathKind kind_of_mode(::mode_t mode) noexcept {
  if (S_ISREG(mode)) return PathKind::File;
  if (S_ISDIR(mode)) return PathKind::Directory;
  return S_ISFIFO(mode) || S_ISCHR(mode) ? PathKind::Stream : PathKind::Other;
}

inline std::string read_posix_link(const PosixPath& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length =
      repeat_call(SystemCall::Read, [&] { return ::readlink(path.location.c_str(), target.data(), target.size()); });
  if (length < 0) throw_errno("read link", path.name, errno);
  return {target.data(), static_cast<std::size_t>(length)};
}

/// `resolve_posix_path`, with the place of the target.
inline std::pair<PathKind, PosixPath> find_posix_target(PosixPath path) {
  constexpr int kMostLinks = 40;  // as the system allows
  const std::string given = path.name;
  for (int links = 0; links <= kMostLinks; ++links) {
    struct ::stat status = {};
    if (repeat_call(SystemCall::Find, [&] { return ::lstat(path.location.c_str(), &status); }) != 0) {
      if (on_failure(SystemCall::Find, errno) == OnFailure::NothingThere) return {PathKind::Nothing, std::move(path)};
      throw_errno("examine", given, errno);
    }
    if (own_descriptor(path.location)) return {PathKind::Stream, std::move(path)};
    if (!S_ISLNK(status.st_mode)) return {kind_of_mode(status.st_mode), std::move(path)};
    const std::string target = read_posix_link(path);
    path = {join_path(parent_path(path.name), target), join_path(parent_path(path.location), target)};
  }
  throw_errno("follow the links of", given, ELOOP);
}

PathTarget resolve_posix_path(PosixPath path) {
  auto [kind, target] = find_posix_target(std::move(path));
  return {kind, std::move(target.name)};
}

/// A pipe or a device. What is written is gone, so a write that fails half way ends it.
class PosixStream final : public WritableFile {
 public:
  PosixStream(std::string path, FileDescriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

  void append(std::span<const std::byte> bytes) override {
    sync();
    if (broken_) throw FailedPreconditionError("{} failed before; open it again", path_);
    while (!bytes.empty()) {
      const auto [written, number] = write(bytes);
      if (number == EAGAIN) {  // somebody who shares it does not want to wait
        ::pollfd writable{.fd = descriptor_.number(), .events = POLLOUT, .revents = 0};
        static_cast<void>(::poll(&writable, 1, -1));
        continue;
      }
      if (number != 0) {
        broken_ = true;
        throw_errno("write to", path_, number);
      }
      bytes = bytes.subspan(written);
      size_ += written;
    }
  }

  void sync() override {  // there is no disk
    if (!descriptor_.is_open()) throw FailedPreconditionError("{} is closed already", path_);
  }

  void close() override {
    if (const int number = descriptor_.close(); number != 0) throw_errno("close", path_, number);
  }

 private:
  /// The number of bytes written, or an error number.
  [[nodiscard]] std::pair<std::size_t, int> write(std::span<const std::byte> bytes) noexcept {
    const NoWriteSignals no_signals;
    const ssize_t written =
        repeat_call(SystemCall::Write, [&] { return ::write(descriptor_.number(), bytes.data(), bytes.size()); });
    return written < 0 ? std::pair(std::size_t{0}, errno) : std::pair(static_cast<std::size_t>(written), 0);
  }

  std::string path_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
  bool broken_ = false;
};

inline FileDescriptor open_stream(const PosixPath& path) {
  if (const std::optional<int> own = own_descriptor(path.location)) {
    FileDescriptor descriptor(::fcntl(*own, F_DUPFD_CLOEXEC, 0));
    if (!descriptor.is_open()) throw_errno("append to", path.name, errno);
    return descriptor;
  }
  FileDescriptor descriptor = open_descriptor("append to", path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  const int flags = ::fcntl(descriptor.number(), F_GETFL);
  if (flags == -1 || ::fcntl(descriptor.number(), F_SETFL, flags & ~O_NONBLOCK) == -1)
    throw_errno("append to", path.name, errno);
  return descriptor;
}

std::unique_ptr<WritableFile> open_posix_appendable(const PosixPath& path) {
  const auto [kind, target] = find_posix_target(path);
  if (kind == PathKind::Stream) return std::make_unique<PosixStream>(path.name, open_stream(target));
  if (kind == PathKind::Other)
    throw FailedPreconditionError("cannot append to {}: it is a disk or a socket (give the path of a file)", path.name);
  return append_to_posix_file(path);
}

}  // namespace trainhook::detail
