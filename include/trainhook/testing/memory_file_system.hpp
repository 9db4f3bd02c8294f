// SPDX-License-Identifier: Apache-2.0
/// @file
/// MemoryFileSystem: a disk in memory that can lose power.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/testing/memory_disk.hpp>

namespace trainhook::testing {
/// A file system in memory, for tests: it does not touch the disk, and `crash` simulates a power cut. Relative paths
/// start at the root, so `run/x` is `/run/x`; `..` is not supported. Thread-safe.
class MemoryFileSystem final : public FileSystem {
 public:
  MemoryFileSystem() { disk_->root = make_directory(); }

  /// Simulates a power cut: files and directories return to the contents of their last sync. If a name survives but its
  /// file was never synced, the file is empty. Open handles become invalid and locks are released.
  TRAINHOOK_DECL void crash();

  /// Returns a number from 0 to `count - 1`.
  using Choose = std::function<std::size_t(std::size_t count)>;

  /// The same for a disk that reorders writes: for each unsynced change of a directory, `choose` decides whether it
  /// survives (renames are atomic), and for each file with unsynced bytes whether it has the old bytes, the new ones,
  /// as many zeros, or half of the new ones. Synced bytes always stay.
  TRAINHOOK_DECL void crash(const Choose& choose);

  /// Limits the disk to `bytes` bytes in all: an append beyond that writes nothing and throws ResourceExhaustedError.
  TRAINHOOK_DECL void set_capacity(std::uint64_t bytes);

  /// Sets the `modification_time` of files written from now on; initially 0.
  TRAINHOOK_DECL void set_time(double seconds_since_1970);

  /// Creates a file with its directories, durably. Replaces a file of that name, whose lock then protects nothing.
  TRAINHOOK_DECL void write_file(const std::string& path, std::string contents);

  /// Creates a link, durably, and its directory. `target` need not exist.
  TRAINHOOK_DECL void make_link(const std::string& path, std::string target);

  /// Creates a pipe or device. `contents` returns what was appended to it. Reading it or creating a file in its place
  /// is an error, because a program would read forever or destroy it.
  TRAINHOOK_DECL void make_stream(const std::string& path);

  /// Simulates a change of the program's current directory: relative paths start there for sessions and writers made
  /// from now on, not for earlier ones. Paths given to this object still start at the root. The first call sets where
  /// the program starts. @throws FailedPreconditionError if a session or writer was made before the first call.
  TRAINHOOK_DECL void change_directory(const std::string& path);

  /// The contents of a file. @throws NotFoundError.
  [[nodiscard]] TRAINHOOK_DECL std::string contents(const std::string& path);

  /// The paths of all files, sorted, without a leading slash.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> files();

  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ReadableFile> open_readable(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> create_writable(const std::string& path,
                                                                             WriteMode mode) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> open_appendable(const std::string& path) override;

  /// Truncates durably, as if the machine never stopped in between.
  TRAINHOOK_DECL void truncate(const std::string& path, std::uint64_t size) override;
  [[nodiscard]] TRAINHOOK_DECL PathTarget resolve(const std::string& path) override;

  /// Shares the disk with this one.
  [[nodiscard]] TRAINHOOK_DECL FileSystem& at_current_directory() override;
  [[nodiscard]] TRAINHOOK_DECL bool exists(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL bool is_directory(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t file_size(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL double modification_time(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> list_directory(const std::string& path) override;
  TRAINHOOK_DECL void make_directories(const std::string& path) override;
  TRAINHOOK_DECL void remove_file(const std::string& path) override;
  TRAINHOOK_DECL void remove_directory(const std::string& path) override;
  TRAINHOOK_DECL void rename(const std::string& from, const std::string& to) override;
  TRAINHOOK_DECL void sync_directory(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<FileLock> lock_file(const std::string& path) override;

 private:
  using Node = detail::MemoryNode;

  TRAINHOOK_DECL static std::shared_ptr<Node> make_directory();
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<Node> find(std::string_view path) const;
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<Node> file(const std::string& path, std::string_view operation) const;
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<Node> directory(const std::string& path,
                                                               std::string_view operation) const;

  /// Returns the names on the path from the root. Follows all links, the last only if `follow_last`.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> parts_of(std::string_view path, bool follow_last = true) const;

  /// The directory of the path, and the name in it.
  [[nodiscard]] TRAINHOOK_DECL std::pair<std::shared_ptr<Node>, std::string> place_of(const std::string& path,
                                                                                      std::string_view operation,
                                                                                      bool follow_last = false) const;

  /// Returns the file of that name; creates it if it is missing.
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<Node> file_to_write(const std::string& path, std::string_view operation);

  TRAINHOOK_DECL void put(const std::string& path, const std::shared_ptr<Node>& node);

  TRAINHOOK_DECL void change(const std::shared_ptr<Node>& directory, std::string removed, std::string added = {},
                             std::shared_ptr<Node> node = nullptr);
  TRAINHOOK_DECL void fall_back(Node& node);
  TRAINHOOK_DECL static void tear(Node& node, const Choose& choose);
  TRAINHOOK_DECL static void collect(const Node& node, const std::string& path, std::vector<std::string>& paths);

  TRAINHOOK_DECL MemoryFileSystem(std::shared_ptr<detail::MemoryDisk> disk, std::string directory);

  std::shared_ptr<detail::MemoryDisk> disk_ = std::make_shared<detail::MemoryDisk>();
  std::string directory_;  // where relative paths start; empty: at the root, unless the program has a current directory
  std::map<std::string, std::unique_ptr<MemoryFileSystem>> at_directories_;
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/memory_file_system.ipp>
#endif
