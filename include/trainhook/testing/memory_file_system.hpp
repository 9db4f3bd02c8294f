// SPDX-License-Identifier: Apache-2.0
/// @file
/// MemoryFileSystem: a disk in memory that can lose power.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/testing/memory_disk.hpp>

namespace trainhook::testing {
/// A whole file system in memory, for tests: nothing is shared with the machine's disk, and `crash` shows what a power
/// cut would leave. Relative paths begin at the root, so `run/x` is `/run/x`; `..` is not supported. May be used from
/// several threads.
class MemoryFileSystem final : public FileSystem {
 public:
  MemoryFileSystem() { disk_->root = make_directory(); }

  /// Power cut: files fall back to what was synced last, directories to the names that were there when they were synced
  /// last; a name whose file was never synced is left with an empty file. Open handles are dead, locks are free.
  TRAINHOOK_DECL void crash();

  /// Returns a number from 0 to `count - 1`.
  using Choose = std::function<std::size_t(std::size_t count)>;

  /// The same on a disk that writes in an order of its own: `choose` decides for each change of a directory that was
  /// not synced whether it is there (renames are atomic), and for each file with bytes that were not synced whether it
  /// has the old ones, the new ones, as many zeros, or half of the new ones; bytes before them that were synced stay.
  TRAINHOOK_DECL void crash(const Choose& choose);

  /// From now on the disk holds `bytes` in all: an append beyond that writes nothing and throws ResourceExhaustedError.
  TRAINHOOK_DECL void set_capacity(std::uint64_t bytes);

  /// What `modification_time` returns for files written from now on; 0 at first.
  TRAINHOOK_DECL void set_time(double seconds_since_1970);

  /// Puts a file there, durably, with its directories.
  TRAINHOOK_DECL void write_file(const std::string& path, std::string contents);

  /// The content of a file. @throws NotFoundError.
  [[nodiscard]] TRAINHOOK_DECL std::string contents(const std::string& path);

  /// The paths of all files, sorted, without a leading slash.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> files();

  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ReadableFile> open_readable(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> create_writable(const std::string& path,
                                                                             WriteMode mode) override;
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

  /// The directory that holds the path, and the name in it.
  [[nodiscard]] TRAINHOOK_DECL std::pair<std::shared_ptr<Node>, std::string> place_of(const std::string& path,
                                                                                      std::string_view operation) const;

  TRAINHOOK_DECL void change(const std::shared_ptr<Node>& directory, std::string removed, std::string added = {},
                             std::shared_ptr<Node> node = nullptr);
  TRAINHOOK_DECL void fall_back(Node& node);
  TRAINHOOK_DECL static void tear(Node& node, const Choose& choose);
  TRAINHOOK_DECL static void collect(const Node& node, const std::string& path, std::vector<std::string>& paths);

  std::shared_ptr<detail::MemoryDisk> disk_ = std::make_shared<detail::MemoryDisk>();
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/memory_file_system.ipp>
#endif
