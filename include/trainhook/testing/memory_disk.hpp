// SPDX-License-Identifier: Apache-2.0
/// @file
/// The data of MemoryFileSystem: its tree of files, and open files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::testing {
namespace detail {

/// A file, directory, stream or link, with its current contents and what a crash would leave of them.
struct MemoryNode {
  using Entries = std::map<std::string, std::shared_ptr<MemoryNode>>;

  bool is_directory = false;
  bool is_stream = false;
  std::string link{};  ///< the target, if it is a link
  double modified = 0;
  std::string contents{};
  std::string durable_contents{};
  Entries entries{};
  Entries durable_entries{};
};

/// A change of a directory that a power cut may undo: a removed name, an added name, or both for a rename.
struct PendingChange {
  std::shared_ptr<MemoryNode> directory{};
  std::string removed{};
  std::string added{};
  std::shared_ptr<MemoryNode> node{};  ///< the file or directory `added`
};

/// The state that a disk shares with its handles. A single lock, because speed does not matter in tests.
struct MemoryDisk {
  std::mutex mutex{};
  std::shared_ptr<MemoryNode> root{};
  std::vector<PendingChange> pending{};                // in order
  std::map<std::shared_ptr<MemoryNode>, int> locks{};  // file -> holder's number
  int next_lock = 0;
  std::uint64_t generation = 0;  // the number of crashes: handles from before the last one are dead
  std::uint64_t used = 0;
  double time = 0;
  std::string current_directory{};  // empty: relative paths start at the root, always
  bool is_shared = false;           // a session or writer was made while there was no current directory
  std::uint64_t capacity = (std::numeric_limits<std::uint64_t>::max)();

  /// Returns the names on an absolute path. Follows all links, the last only if `follow_last`. The path need not exist.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> parts_of(std::string_view path, bool follow_last) const;
};

class MemoryWritableFile final : public WritableFile {
 public:
  TRAINHOOK_DECL MemoryWritableFile(std::shared_ptr<MemoryDisk> disk, std::shared_ptr<MemoryNode> node,
                                    std::string path);

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

  TRAINHOOK_DECL void append(std::span<const std::byte> bytes) override;
  TRAINHOOK_DECL void reserve(std::uint64_t bytes) override;
  TRAINHOOK_DECL void sync() override;

  void close() override { closed_ = true; }

 private:
  TRAINHOOK_DECL void expect_usable() const;

  std::shared_ptr<MemoryDisk> disk_;
  std::shared_ptr<MemoryNode> node_;
  std::string path_;
  std::uint64_t generation_;
  std::uint64_t size_;
  bool closed_ = false;
};

class MemoryReadableFile final : public ReadableFile {
 public:
  TRAINHOOK_DECL MemoryReadableFile(std::shared_ptr<MemoryDisk> disk, std::shared_ptr<MemoryNode> node,
                                    std::string path);

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }

  [[nodiscard]] TRAINHOOK_DECL std::uint64_t size() const override;
  TRAINHOOK_DECL void read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  std::shared_ptr<MemoryDisk> disk_;
  std::shared_ptr<MemoryNode> node_;
  std::string path_;
};

class MemoryFileLock final : public FileLock {
 public:
  TRAINHOOK_DECL MemoryFileLock(std::shared_ptr<MemoryDisk> disk, std::shared_ptr<MemoryNode> node, std::string path,
                                int number);
  TRAINHOOK_DECL ~MemoryFileLock() override;

  [[nodiscard]] TRAINHOOK_DECL bool is_current() const override;

 private:
  std::shared_ptr<MemoryDisk> disk_;
  std::shared_ptr<MemoryNode> node_;
  std::string path_;
  int number_;
};

/// The names in the path, without `.` and repeated slashes.
TRAINHOOK_DECL std::vector<std::string> path_parts(std::string_view path);

/// The file or directory with that absolute path, or null. The disk's mutex must be held.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<MemoryNode> find_node(const MemoryDisk& disk,
                                                                   const std::vector<std::string>& parts);

}  // namespace detail

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/memory_disk.ipp>
#endif
