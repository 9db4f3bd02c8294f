// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/memory_disk.hpp>

#include <algorithm>
#include <utility>

#include <trainhook/core/error.hpp>

namespace trainhook::testing::detail {

std::vector<std::string> MemoryDisk::parts_of(std::string_view path, bool follow_last) const {
  constexpr int kMostLinks = 40;
  std::vector<std::string> done;
  std::shared_ptr<MemoryNode> node = root;  // null: not there
  std::vector<std::string> left = path_parts(path);
  int links = 0;
  while (!left.empty()) {
    const std::string part = left.front();
    left.erase(left.begin());
    const auto child = node == nullptr ? MemoryNode::Entries::iterator() : node->entries.find(part);
    const std::shared_ptr<MemoryNode> next = node == nullptr || child == node->entries.end() ? nullptr : child->second;
    if (next == nullptr || next->link.empty() || (left.empty() && !follow_last)) {
      done.push_back(part);
      node = next;
      continue;
    }
    if (++links > kMostLinks) throw InvalidArgumentError("cannot follow the links of {}: there are too many", path);
    const std::vector<std::string> target = path_parts(next->link);
    left.insert(left.begin(), target.begin(), target.end());
    if (!next->link.starts_with('/')) continue;
    done.clear();
    node = root;
  }
  return done;
}

MemoryWritableFile::MemoryWritableFile(std::shared_ptr<MemoryDisk> disk, std::shared_ptr<MemoryNode> node,
                                       std::string path)
    : disk_(std::move(disk)),
      node_(std::move(node)),
      path_(std::move(path)),
      generation_(disk_->generation),
      size_(node_->contents.size()) {}

void MemoryWritableFile::append(std::span<const std::byte> bytes) {
  const std::scoped_lock lock(disk_->mutex);
  expect_usable();
  if (bytes.size() > disk_->capacity - (std::min)(disk_->used, disk_->capacity)) {
    throw ResourceExhaustedError("cannot write to {}: No space left on device (free space on this disk)", path_);
  }
  node_->contents.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  node_->modified = disk_->time;
  disk_->used += bytes.size();
  size_ += bytes.size();
}

void MemoryWritableFile::reserve(std::uint64_t bytes) {
  const std::scoped_lock lock(disk_->mutex);
  expect_usable();
  if (bytes > size_ && bytes - size_ > disk_->capacity - (std::min)(disk_->used, disk_->capacity)) {
    throw ResourceExhaustedError("cannot reserve {} bytes for {}: No space left on device (free space on this disk)",
                                 bytes, path_);
  }
}

void MemoryWritableFile::sync() {
  const std::scoped_lock lock(disk_->mutex);
  expect_usable();
  node_->durable_contents = node_->contents;
}

void MemoryWritableFile::expect_usable() const {
  if (closed_) throw FailedPreconditionError("file {} is closed already", path_);
  if (generation_ != disk_->generation) throw FailedPreconditionError("file {} was opened before the crash", path_);
}

MemoryReadableFile::MemoryReadableFile(std::shared_ptr<MemoryDisk> disk, std::shared_ptr<MemoryNode> node,
                                       std::string path)
    : disk_(std::move(disk)), node_(std::move(node)), path_(std::move(path)) {}

std::uint64_t MemoryReadableFile::size() const {
  const std::scoped_lock lock(disk_->mutex);
  return node_->contents.size();
}

void MemoryReadableFile::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  const std::scoped_lock lock(disk_->mutex);
  const std::span<const std::byte> all = std::as_bytes(std::span(node_->contents));
  if (offset > all.size() || into.size() > all.size() - offset) {
    throw DataLossError("file {} ends at byte {}, before all of the {} bytes at offset {}", path_, all.size(),
                        into.size(), offset);
  }
  std::ranges::copy(all.subspan(static_cast<std::size_t>(offset), into.size()), into.begin());
}

MemoryFileLock::MemoryFileLock(std::shared_ptr<MemoryDisk> disk, std::shared_ptr<MemoryNode> node, std::string path,
                               int number)
    : disk_(std::move(disk)), node_(std::move(node)), path_(std::move(path)), number_(number) {}

MemoryFileLock::~MemoryFileLock() {
  const std::scoped_lock lock(disk_->mutex);
  const auto held = disk_->locks.find(node_);
  if (held != disk_->locks.end() && held->second == number_) disk_->locks.erase(held);
}

bool MemoryFileLock::is_current() const {
  const std::scoped_lock lock(disk_->mutex);
  const auto held = disk_->locks.find(node_);
  return held != disk_->locks.end() && held->second == number_ &&
         find_node(*disk_, disk_->parts_of(path_, true)) == node_;
}

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = (std::min)(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path.remove_prefix((std::min)(slash + 1, path.size()));
  }
  return parts;
}

std::shared_ptr<MemoryNode> find_node(const MemoryDisk& disk, const std::vector<std::string>& parts) {
  std::shared_ptr<MemoryNode> node = disk.root;
  for (const std::string& part : parts) {
    const auto child = node->entries.find(part);
    if (child == node->entries.end()) return nullptr;
    node = child->second;
  }
  return node;
}

}  // namespace trainhook::testing::detail
