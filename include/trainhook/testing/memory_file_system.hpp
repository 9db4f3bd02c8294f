// SPDX-License-Identifier: Apache-2.0
/// @file
/// MemoryFileSystem: a disk in memory that can lose power.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/testing/memory_disk.hpp>

namespace trainhook::testing {
/// A whole file system in memory, for tests: nothing is shared with the machine's disk, and `crash` shows what a power cut would leave.
/// Relative and absolute paths mean the same, `run/x` is `/run/x`; `..` is not understood. May be used from several threads.
class MemoryFileSystem final : public FileSystem {
 public:
  MemoryFileSystem() { disk_->root = make_directory(); }

  /// Power cut: files fall back to what was synced last, directories to the names that were there when they were synced last; a name whose
  /// file was never synced is left with an empty file. Open handles are dead, locks are free.
  void crash() {
    const std::scoped_lock lock(disk_->mutex);
    ++disk_->generation;
    disk_->locks.clear();
    disk_->used = 0;
    fall_back(*disk_->root);
  }

  /// From now on the disk holds `bytes` in all: an append beyond that is a ResourceExhaustedError that writes nothing.
  void set_capacity(std::uint64_t bytes) {
    const std::scoped_lock lock(disk_->mutex);
    disk_->capacity = bytes;
  }

  /// What `modification_time` says of files written from now on; 0 at first.
  void set_time(double seconds_since_1970) {
    const std::scoped_lock lock(disk_->mutex);
    disk_->time = seconds_since_1970;
  }

  /// Puts a file there, durably, with its directories.
  void write_file(const std::string& path, std::string contents) {
    make_directories(parent_path(path));
    const std::scoped_lock lock(disk_->mutex);
    const auto [directory, name] = place_of(path, "write");
    auto node = std::make_shared<Node>();
    node->contents = contents;
    node->durable_contents = std::move(contents);
    node->modified = disk_->time;
    if (const auto old = directory->entries.find(name); old != directory->entries.end()) disk_->used -= old->second->contents.size();
    disk_->used += node->contents.size();
    directory->entries[name] = node;
    directory->durable_entries[name] = node;
  }

  /// The content of a file. @throws NotFoundError.
  [[nodiscard]] std::string contents(const std::string& path) {
    const std::scoped_lock lock(disk_->mutex);
    return file(path, "read")->contents;
  }

  /// The paths of all files, sorted, without a leading slash.
  [[nodiscard]] std::vector<std::string> files() {
    const std::scoped_lock lock(disk_->mutex);
    std::vector<std::string> paths;
    collect(*disk_->root, "", paths);
    return paths;
  }

  [[nodiscard]] std::unique_ptr<ReadableFile> open_readable(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    return std::make_unique<detail::MemoryReadableFile>(disk_, file(path, "open"), path);
  }

  [[nodiscard]] std::unique_ptr<WritableFile> create_writable(const std::string& path, WriteMode mode) override {
    const std::scoped_lock lock(disk_->mutex);
    const auto [directory, name] = place_of(path, "create");
    std::shared_ptr<Node>& node = directory->entries[name];
    if (node != nullptr && node->is_directory) throw FailedPreconditionError("cannot create ", path, ": Is a directory");
    if (node != nullptr && mode == WriteMode::Exclusive) throw AlreadyExistsError("cannot create ", path, ": File exists");
    if (node == nullptr) node = std::make_shared<Node>();
    disk_->used -= node->contents.size();
    node->contents.clear();
    node->modified = disk_->time;
    return std::make_unique<detail::MemoryWritableFile>(disk_, node, path);
  }

  [[nodiscard]] bool exists(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    return find(path) != nullptr;
  }

  [[nodiscard]] bool is_directory(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    const std::shared_ptr<Node> node = find(path);
    return node != nullptr && node->is_directory;
  }

  [[nodiscard]] std::uint64_t file_size(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    return file(path, "examine")->contents.size();
  }

  [[nodiscard]] double modification_time(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    const std::shared_ptr<Node> node = find(path);
    if (node == nullptr) throw NotFoundError("cannot examine ", path, ": No such file or directory");
    return node->modified;
  }

  [[nodiscard]] std::vector<std::string> list_directory(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    std::vector<std::string> names;
    for (const auto& [name, node] : directory(path, "list")->entries) names.push_back(name);
    return names;
  }

  void make_directories(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    std::shared_ptr<Node> node = disk_->root;
    for (const std::string& part : detail::path_parts(path)) {
      std::shared_ptr<Node>& child = node->entries[part];
      if (child == nullptr) {
        child = make_directory();
        node->durable_entries[part] = child;
      } else if (!child->is_directory) {
        throw FailedPreconditionError("cannot create directory ", path, ": ", part, " is a file");
      }
      node = child;
    }
  }

  void remove_file(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    disk_->used -= file(path, "remove")->contents.size();
    const auto [directory, name] = place_of(path, "remove");
    directory->entries.erase(name);
  }

  void remove_directory(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    if (!directory(path, "remove")->entries.empty()) {
      throw FailedPreconditionError("cannot remove directory ", path, ": Directory not empty");
    }
    const auto [directory, name] = place_of(path, "remove");
    directory->entries.erase(name);
  }

  void rename(const std::string& from, const std::string& to) override {
    const std::scoped_lock lock(disk_->mutex);
    const std::shared_ptr<Node> node = find(from);
    if (node == nullptr) throw NotFoundError("cannot rename ", from, " to ", to, ": No such file or directory");
    const auto [old_directory, old_name] = place_of(from, "rename");
    const auto [new_directory, new_name] = place_of(to, "rename");
    const auto replaced = new_directory->entries.find(new_name);
    if (replaced != new_directory->entries.end() && replaced->second != node) {
      if (replaced->second->is_directory != node->is_directory || !replaced->second->entries.empty()) {
        throw FailedPreconditionError("cannot rename ", from, " to ", to, ": the target is not a file or an empty directory of its kind");
      }
      disk_->used -= replaced->second->contents.size();
    }
    old_directory->entries.erase(old_name);
    new_directory->entries[new_name] = node;
  }

  void sync_directory(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    const std::shared_ptr<Node> node = directory(path, "sync");
    node->durable_entries = node->entries;
  }

  [[nodiscard]] std::unique_ptr<FileLock> lock_file(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex);
    const auto [directory, name] = place_of(path, "lock");
    std::shared_ptr<Node>& node = directory->entries[name];
    if (node == nullptr) node = std::make_shared<Node>();
    std::string key;
    for (const std::string& part : detail::path_parts(path)) key += "/" + part;
    const int number = disk_->next_lock++;
    if (!disk_->locks.emplace(key, number).second) {
      throw FailedPreconditionError("another session is at work here: it holds the lock ", path, "; end it or use another directory");
    }
    return std::make_unique<detail::MemoryFileLock>(disk_, key, number);
  }

 private:
  using Node = detail::MemoryNode;

  static std::shared_ptr<Node> make_directory() {
    auto node = std::make_shared<Node>();
    node->is_directory = true;
    return node;
  }

  [[nodiscard]] std::shared_ptr<Node> find(std::string_view path) const {
    std::shared_ptr<Node> node = disk_->root;
    for (const std::string& part : detail::path_parts(path)) {
      const auto child = node->entries.find(part);
      if (child == node->entries.end()) return nullptr;
      node = child->second;
    }
    return node;
  }

  [[nodiscard]] std::shared_ptr<Node> file(const std::string& path, std::string_view operation) const {
    std::shared_ptr<Node> node = find(path);
    if (node == nullptr) throw NotFoundError("cannot ", operation, " ", path, ": No such file or directory");
    if (node->is_directory) throw FailedPreconditionError("cannot ", operation, " ", path, ": Is a directory");
    return node;
  }

  [[nodiscard]] std::shared_ptr<Node> directory(const std::string& path, std::string_view operation) const {
    std::shared_ptr<Node> node = find(path);
    if (node == nullptr) throw NotFoundError("cannot ", operation, " ", path, ": No such file or directory");
    if (!node->is_directory) throw FailedPreconditionError("cannot ", operation, " ", path, ": Not a directory");
    return node;
  }

  /// The directory that holds the path, and the name in it.
  [[nodiscard]] std::pair<std::shared_ptr<Node>, std::string> place_of(const std::string& path, std::string_view operation) const {
    const std::vector<std::string> parts = detail::path_parts(path);
    if (parts.empty()) throw FailedPreconditionError("cannot ", operation, " ", path, ": it is the root");
    return {directory(parent_path(path), operation), parts.back()};
  }

  void fall_back(Node& node) {
    node.contents = node.durable_contents;
    disk_->used += node.contents.size();
    node.entries = node.durable_entries;
    for (const auto& [name, child] : node.entries) fall_back(*child);
  }

  static void collect(const Node& node, const std::string& path, std::vector<std::string>& paths) {
    for (const auto& [name, child] : node.entries) {
      const std::string inner = join_path(path, name);
      if (child->is_directory) {
        collect(*child, inner, paths);
      } else {
        paths.push_back(inner);
      }
    }
  }

  std::shared_ptr<detail::MemoryDisk> disk_ = std::make_shared<detail::MemoryDisk>();
};

}  // namespace trainhook::testing
