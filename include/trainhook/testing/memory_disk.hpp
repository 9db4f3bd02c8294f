// SPDX-License-Identifier: Apache-2.0
/// @file
/// The inside of MemoryFileSystem: its tree of files, and what is open of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::testing {
namespace detail {

/// A file or a directory, each with what is seen and what a crash would leave of it.
struct MemoryNode {
  using Entries = std::map<std::string, std::shared_ptr<MemoryNode>>;

  bool is_directory = false;
  double modified = 0;
  std::string contents{};
  std::string durable_contents{};
  Entries entries{};
  Entries durable_entries{};
};

/// What the handles of a disk share with it. One lock for all: this is for tests, not for speed.
struct MemoryDisk {
  std::mutex mutex{};
  std::shared_ptr<MemoryNode> root{};
  std::map<std::string, int> locks{};  // path -> holder's number
  int next_lock = 0;
  std::uint64_t generation = 0;  // counts crashes: handles of an earlier one are dead
  std::uint64_t used = 0;
  double time = 0;
  std::uint64_t capacity = (std::numeric_limits<std::uint64_t>::max)();
};

class MemoryWritableFile final : public WritableFile {
 public:
  MemoryWritableFile(std::shared_ptr<MemoryDisk> disk, std::shared_ptr<MemoryNode> node, std::string path)
      : disk_(std::move(disk)), node_(std::move(node)), path_(std::move(path)), generation_(disk_->generation) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

  void append(std::span<const std::byte> bytes) override {
    const std::scoped_lock lock(disk_->mutex);
    expect_usable();
    if (bytes.size() > disk_->capacity - (std::min)(disk_->used, disk_->capacity)) {
      throw ResourceExhaustedError("cannot write to ", path_, ": No space left on device (free space on this disk)");
    }
    node_->contents.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    node_->modified = disk_->time;
    disk_->used += bytes.size();
    size_ += bytes.size();
  }

  void sync() override {
    const std::scoped_lock lock(disk_->mutex);
    expect_usable();
    node_->durable_contents = node_->contents;
  }

  void close() override { closed_ = true; }

 private:
  void expect_usable() const {
    if (closed_) throw FailedPreconditionError("file ", path_, " is closed already");
    if (generation_ != disk_->generation) throw FailedPreconditionError("file ", path_, " was opened before the crash");
  }

  std::shared_ptr<MemoryDisk> disk_;
  std::shared_ptr<MemoryNode> node_;
  std::string path_;
  std::uint64_t generation_;
  std::uint64_t size_ = 0;
  bool closed_ = false;
};

class MemoryReadableFile final : public ReadableFile {
 public:
  MemoryReadableFile(std::shared_ptr<MemoryDisk> disk, std::shared_ptr<MemoryNode> node, std::string path)
      : disk_(std::move(disk)), node_(std::move(node)), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }

  [[nodiscard]] std::uint64_t size() const override {
    const std::scoped_lock lock(disk_->mutex);
    return node_->contents.size();
  }

  void read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    const std::scoped_lock lock(disk_->mutex);
    const std::span<const std::byte> all = std::as_bytes(std::span(node_->contents));
    if (offset > all.size() || into.size() > all.size() - offset) {
      throw DataLossError("file ", path_, " ends at byte ", all.size(), ", before all of the ", into.size(), " bytes at offset ", offset);
    }
    std::ranges::copy(all.subspan(static_cast<std::size_t>(offset), into.size()), into.begin());
  }

 private:
  std::shared_ptr<MemoryDisk> disk_;
  std::shared_ptr<MemoryNode> node_;
  std::string path_;
};

class MemoryFileLock final : public FileLock {
 public:
  MemoryFileLock(std::shared_ptr<MemoryDisk> disk, std::string path, int number)
      : disk_(std::move(disk)), path_(std::move(path)), number_(number) {}

  ~MemoryFileLock() override {
    const std::scoped_lock lock(disk_->mutex);
    const auto held = disk_->locks.find(path_);
    if (held != disk_->locks.end() && held->second == number_) disk_->locks.erase(held);
  }

 private:
  std::shared_ptr<MemoryDisk> disk_;
  std::string path_;
  int number_;
};

/// The names on the way from the root; `.` and doubled slashes are dropped, and a relative path begins at the root too.
inline std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = (std::min)(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path.remove_prefix((std::min)(slash + 1, path.size()));
  }
  return parts;
}

}  // namespace detail

}  // namespace trainhook::testing
