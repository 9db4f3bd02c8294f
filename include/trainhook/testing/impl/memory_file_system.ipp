// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/memory_file_system.hpp>

#include <mutex>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::testing {

MemoryFileSystem::MemoryFileSystem(std::shared_ptr<detail::MemoryDisk> disk, std::string directory)
    : disk_(std::move(disk)), directory_(std::move(directory)) {}

void MemoryFileSystem::crash() {
  const std::scoped_lock lock(disk_->mutex);
  ++disk_->generation;
  disk_->locks.clear();
  disk_->pending.clear();
  disk_->used = 0;
  fall_back(*disk_->root);
}

void MemoryFileSystem::crash(const Choose& choose) {
  {
    const std::scoped_lock lock(disk_->mutex);
    for (const detail::PendingChange& pending : disk_->pending) {
      if (choose(2) == 0) continue;
      auto& names = pending.directory->durable_entries;
      if (!pending.removed.empty()) names.erase(pending.removed);
      if (!pending.added.empty()) names[pending.added] = pending.node;
    }
    tear(*disk_->root, choose);
  }
  crash();
}

void MemoryFileSystem::set_capacity(std::uint64_t bytes) {
  const std::scoped_lock lock(disk_->mutex);
  disk_->capacity = bytes;
}

void MemoryFileSystem::set_time(double seconds_since_1970) {
  const std::scoped_lock lock(disk_->mutex);
  disk_->time = seconds_since_1970;
}

void MemoryFileSystem::write_file(const std::string& path, std::string contents) {
  auto node = std::make_shared<Node>();
  node->contents = contents;
  node->durable_contents = std::move(contents);
  put(path, node);
}

void MemoryFileSystem::make_link(const std::string& path, std::string target) {
  auto node = std::make_shared<Node>();
  node->link = std::move(target);
  put(path, node);
}

void MemoryFileSystem::make_stream(const std::string& path) {
  auto node = std::make_shared<Node>();
  node->is_stream = true;
  put(path, node);
}

void MemoryFileSystem::put(const std::string& path, const std::shared_ptr<Node>& node) {
  make_directories(parent_path(path));
  const std::scoped_lock lock(disk_->mutex);
  const auto [directory, name] = place_of(path, "write");
  node->modified = disk_->time;
  if (const auto old = directory->entries.find(name); old != directory->entries.end())
    disk_->used -= old->second->contents.size();
  disk_->used += node->contents.size();
  directory->entries[name] = node;
  directory->durable_entries[name] = node;
}

void MemoryFileSystem::change_directory(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  static_cast<void>(directory(path, "change to"));
  if (disk_->is_shared)
    throw FailedPreconditionError("call change_directory for the first time before a session or writer is made");
  std::string absolute = "/";
  for (const std::string& part : parts_of(path)) absolute = join_path(absolute, part);
  disk_->current_directory = absolute;
}

FileSystem& MemoryFileSystem::at_current_directory() {
  const std::scoped_lock lock(disk_->mutex);
  disk_->is_shared |= disk_->current_directory.empty();
  if (!directory_.empty() || disk_->current_directory.empty()) return *this;
  std::unique_ptr<MemoryFileSystem>& there = at_directories_[disk_->current_directory];
  if (there == nullptr) there.reset(new MemoryFileSystem(disk_, disk_->current_directory));
  return *there;
}

std::string MemoryFileSystem::contents(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  return file(path, "read")->contents;
}

std::vector<std::string> MemoryFileSystem::files() {
  const std::scoped_lock lock(disk_->mutex);
  std::vector<std::string> paths;
  collect(*disk_->root, "", paths);
  return paths;
}

std::unique_ptr<ReadableFile> MemoryFileSystem::open_readable(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  const std::shared_ptr<Node> node = file(path, "open");
  if (node->is_stream) throw FailedPreconditionError("cannot open {}: a read from it would never end", path);
  return std::make_unique<detail::MemoryReadableFile>(disk_, node, path);
}

std::unique_ptr<WritableFile> MemoryFileSystem::create_writable(const std::string& path, WriteMode mode) {
  const std::scoped_lock lock(disk_->mutex);
  if (const auto [directory, name] = place_of(path, "create");
      mode != WriteMode::Truncate && directory->entries.contains(name))
    throw AlreadyExistsError("cannot create {}: File exists", path);
  const std::shared_ptr<Node> node = file_to_write(path, "create");
  if (node->is_stream) throw FailedPreconditionError("cannot create {}: it is a stream", path);
  disk_->used -= node->contents.size();
  node->contents.clear();
  node->modified = disk_->time;
  return std::make_unique<detail::MemoryWritableFile>(disk_, node, path);
}

std::unique_ptr<WritableFile> MemoryFileSystem::open_appendable(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  return std::make_unique<detail::MemoryWritableFile>(disk_, file_to_write(path, "append to"), path);
}

void MemoryFileSystem::truncate(const std::string& path, std::uint64_t size) {
  const std::scoped_lock lock(disk_->mutex);
  const std::shared_ptr<Node> node = file(path, "cut");
  if (size >= node->contents.size()) return;
  disk_->used -= node->contents.size() - size;
  node->contents.resize(static_cast<std::size_t>(size));
  if (node->durable_contents.starts_with(node->contents)) node->durable_contents = node->contents;
}

PathTarget MemoryFileSystem::resolve(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  PathTarget target{PathKind::Nothing, path};
  if (const std::vector<std::string> parts = parts_of(path); parts != parts_of(path, false)) {
    target.path.assign(1, '/');
    for (const std::string& part : parts) target.path = join_path(target.path, part);
  }
  if (const std::shared_ptr<Node> node = find(path))
    target.kind = node->is_directory ? PathKind::Directory : node->is_stream ? PathKind::Stream : PathKind::File;
  return target;
}

bool MemoryFileSystem::exists(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  return find(path) != nullptr;
}

bool MemoryFileSystem::is_directory(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  const std::shared_ptr<Node> node = find(path);
  return node != nullptr && node->is_directory;
}

std::uint64_t MemoryFileSystem::file_size(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  return file(path, "examine")->contents.size();
}

double MemoryFileSystem::modification_time(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  const std::shared_ptr<Node> node = find(path);
  if (node == nullptr) throw NotFoundError("cannot examine {}: No such file or directory", path);
  return node->modified;
}

std::vector<std::string> MemoryFileSystem::list_directory(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, node] : directory(path, "list")->entries) names.push_back(name);
  return names;
}

void MemoryFileSystem::make_directories(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  std::shared_ptr<Node> node = disk_->root;
  for (const std::string& part : parts_of(path)) {
    std::shared_ptr<Node>& child = node->entries[part];
    if (child == nullptr) {
      child = make_directory();
      node->durable_entries[part] = child;
    } else if (!child->is_directory) {
      throw FailedPreconditionError("cannot create directory {}: {} is a file", path, part);
    }
    node = child;
  }
}

void MemoryFileSystem::remove_file(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  const auto [directory, name] = place_of(path, "remove");
  const auto there = directory->entries.find(name);
  if (there == directory->entries.end()) throw NotFoundError("cannot remove {}: No such file or directory", path);
  if (there->second->is_directory) throw FailedPreconditionError("cannot remove {}: Is a directory", path);
  disk_->used -= there->second->contents.size();
  directory->entries.erase(there);
  change(directory, name);
}

void MemoryFileSystem::remove_directory(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  if (!directory(path, "remove")->entries.empty()) {
    throw FailedPreconditionError("cannot remove directory {}: Directory not empty", path);
  }
  const auto [directory, name] = place_of(path, "remove");
  directory->entries.erase(name);
  change(directory, name);
}

void MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(disk_->mutex);
  const auto [old_directory, old_name] = place_of(from, "rename");
  const auto renamed = old_directory->entries.find(old_name);
  if (renamed == old_directory->entries.end())
    throw NotFoundError("cannot rename {} to {}: No such file or directory", from, to);
  const std::shared_ptr<Node> node = renamed->second;
  const auto [new_directory, new_name] = place_of(to, "rename");
  const auto replaced = new_directory->entries.find(new_name);
  if (replaced != new_directory->entries.end() && replaced->second != node) {
    if (replaced->second->is_directory != node->is_directory || !replaced->second->entries.empty()) {
      throw FailedPreconditionError(
          "cannot rename {} to {}: the target is not a file or an empty directory of its kind", from, to);
    }
    disk_->used -= replaced->second->contents.size();
  }
  old_directory->entries.erase(old_name);
  new_directory->entries[new_name] = node;
  if (old_directory == new_directory) {
    change(new_directory, old_name, new_name, node);
  } else {
    change(new_directory, "", new_name, node);
    change(old_directory, old_name);
  }
}

void MemoryFileSystem::sync_directory(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  const std::shared_ptr<Node> node = directory(path, "sync");
  node->durable_entries = node->entries;
  std::erase_if(disk_->pending, [&](const detail::PendingChange& pending) { return pending.directory == node; });
}

std::unique_ptr<FileLock> MemoryFileSystem::lock_file(const std::string& path) {
  const std::scoped_lock lock(disk_->mutex);
  const std::shared_ptr<Node> node = file_to_write(path, "lock");
  std::string absolute;
  for (const std::string& part : parts_of(path)) absolute += fmt::format("/{}", part);
  const int number = disk_->next_lock++;
  if (!disk_->locks.emplace(node, number).second) {
    throw FailedPreconditionError(
        "another session uses this directory: it holds the lock {}; end it or use another directory", path);
  }
  return std::make_unique<detail::MemoryFileLock>(disk_, node, absolute, number);
}

std::shared_ptr<MemoryFileSystem::Node> MemoryFileSystem::make_directory() {
  auto node = std::make_shared<Node>();
  node->is_directory = true;
  return node;
}

std::shared_ptr<MemoryFileSystem::Node> MemoryFileSystem::find(std::string_view path) const {
  return find_node(*disk_, parts_of(path));
}

std::shared_ptr<MemoryFileSystem::Node> MemoryFileSystem::file(const std::string& path,
                                                               std::string_view operation) const {
  std::shared_ptr<Node> node = find(path);
  if (node == nullptr) throw NotFoundError("cannot {} {}: No such file or directory", operation, path);
  if (node->is_directory) throw FailedPreconditionError("cannot {} {}: Is a directory", operation, path);
  return node;
}

std::shared_ptr<MemoryFileSystem::Node> MemoryFileSystem::directory(const std::string& path,
                                                                    std::string_view operation) const {
  std::shared_ptr<Node> node = find(path);
  if (node == nullptr) throw NotFoundError("cannot {} {}: No such file or directory", operation, path);
  if (!node->is_directory) throw FailedPreconditionError("cannot {} {}: Not a directory", operation, path);
  return node;
}

std::vector<std::string> MemoryFileSystem::parts_of(std::string_view path, bool follow_last) const {
  return disk_->parts_of(join_path(directory_.empty() ? "/" : directory_, path), follow_last);
}

std::pair<std::shared_ptr<MemoryFileSystem::Node>, std::string> MemoryFileSystem::place_of(const std::string& path,
                                                                                           std::string_view operation,
                                                                                           bool follow_last) const {
  std::vector<std::string> parts = parts_of(path, follow_last);
  if (parts.empty()) throw FailedPreconditionError("cannot {} {}: it is the root", operation, path);
  std::string name = std::move(parts.back());
  parts.pop_back();
  std::shared_ptr<Node> node = disk_->root;
  for (const std::string& part : parts) {
    const auto child = node->entries.find(part);
    if (child == node->entries.end()) throw NotFoundError("cannot {} {}: No such file or directory", operation, path);
    node = child->second;
  }
  if (!node->is_directory) throw FailedPreconditionError("cannot {} {}: Not a directory", operation, path);
  return {std::move(node), std::move(name)};
}

std::shared_ptr<MemoryFileSystem::Node> MemoryFileSystem::file_to_write(const std::string& path,
                                                                        std::string_view operation) {
  const auto [directory, name] = place_of(path, operation, true);
  std::shared_ptr<Node>& node = directory->entries[name];
  if (node != nullptr && node->is_directory)
    throw FailedPreconditionError("cannot {} {}: Is a directory", operation, path);
  if (node == nullptr) {
    node = std::make_shared<Node>();
    change(directory, "", name, node);
  }
  return node;
}

void MemoryFileSystem::change(const std::shared_ptr<Node>& directory, std::string removed, std::string added,
                              std::shared_ptr<Node> node) {
  disk_->pending.push_back({directory, std::move(removed), std::move(added), std::move(node)});
}

void MemoryFileSystem::tear(Node& node, const Choose& choose) {
  if (node.contents != node.durable_contents) {
    const std::string written = node.contents;
    // Bytes that were synced before an append are safe.
    const std::size_t safe = written.starts_with(node.durable_contents) ? node.durable_contents.size() : 0;
    switch (choose(4)) {
      case 0: break;
      case 1: node.durable_contents = written; break;
      case 2: node.durable_contents = written.substr(0, safe).append(written.size() - safe, '\0'); break;
      default: node.durable_contents = written.substr(0, safe + (written.size() - safe) / 2);
    }
  }
  for (const auto& [name, child] : node.durable_entries) tear(*child, choose);
}

void MemoryFileSystem::fall_back(Node& node) {
  node.contents = node.durable_contents;
  disk_->used += node.contents.size();
  node.entries = node.durable_entries;
  for (const auto& [name, child] : node.entries) fall_back(*child);
}

void MemoryFileSystem::collect(const Node& node, const std::string& path, std::vector<std::string>& paths) {
  for (const auto& [name, child] : node.entries) {
    const std::string inner = join_path(path, name);
    if (child->is_directory) {
      collect(*child, inner, paths);
    } else {
      paths.push_back(inner);
    }
  }
}

}  // namespace trainhook::testing
