// SPDX-License-Identifier: Apache-2.0
/// @file
/// ReorderingDisk: a disk that keeps, in a power cut, any subset of the names that were changed since the directory was
/// synced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/io/file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::support {

/// Passes everything on to a MemoryFileSystem and notes which names are durable. A file keeps the bytes of its last
/// sync. Knows one directory of files; what was there at first is durable.
class ReorderingDisk final : public FileSystem {
 public:
  explicit ReorderingDisk(testing::MemoryFileSystem& now) : now_(&now) {
    for (const std::string& path : now.files()) {
      auto file = std::make_shared<File>();
      file->synced = file->written = now.contents(path);
      file->modified = now.modification_time(path);
      seen_[path] = durable_[path] = file;
    }
  }

  /// How many changes of names a power cut may keep or lose, each on its own.
  [[nodiscard]] std::size_t pending() const noexcept { return pending_.size(); }

  /// What a power cut leaves that keeps the changes whose bit is set. A file's time is that of its last write.
  void power_cut(std::uint64_t kept, testing::MemoryFileSystem& left) const {
    Names names = durable_;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if ((kept >> i & 1) == 0) continue;
      const Change& change = pending_[i];
      if (!change.from.empty()) names.erase(change.from);
      if (!change.to.empty()) names[change.to] = change.file;
    }
    left.make_directories("run");
    for (const auto& [path, file] : names) {
      left.set_time(file->modified);
      left.write_file(path, file->synced);
    }
  }

  std::unique_ptr<ReadableFile> open_readable(const std::string& path) override { return now_->open_readable(path); }
  std::unique_ptr<WritableFile> create_writable(const std::string& path, WriteMode mode) override {
    auto inner = now_->create_writable(path, mode);
    auto file = std::make_shared<File>();
    seen_[path] = file;
    pending_.push_back({{}, path, file});
    return std::make_unique<Writing>(std::move(inner), std::move(file), *now_);
  }
  bool exists(const std::string& path) override { return now_->exists(path); }
  bool is_directory(const std::string& path) override { return now_->is_directory(path); }
  std::uint64_t file_size(const std::string& path) override { return now_->file_size(path); }
  double modification_time(const std::string& path) override { return now_->modification_time(path); }
  std::vector<std::string> list_directory(const std::string& path) override { return now_->list_directory(path); }
  void make_directories(const std::string& path) override { now_->make_directories(path); }
  void remove_directory(const std::string& path) override { now_->remove_directory(path); }
  void remove_file(const std::string& path) override {
    now_->remove_file(path);
    pending_.push_back({path, {}, nullptr});
    seen_.erase(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    now_->rename(from, to);
    seen_[to] = seen_.at(from);
    seen_.erase(from);
    pending_.push_back({from, to, seen_.at(to)});
  }
  void sync_directory(const std::string& path) override {
    now_->sync_directory(path);
    durable_ = seen_;
    pending_.clear();
  }
  std::unique_ptr<FileLock> lock_file(const std::string& path) override { return now_->lock_file(path); }

 private:
  struct File {
    std::string written{};
    std::string synced{};
    double modified = 0;
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;
  struct Change {
    std::string from{};
    std::string to{};
    std::shared_ptr<File> file{};
  };

  class Writing final : public WritableFile {
   public:
    Writing(std::unique_ptr<WritableFile> inner, std::shared_ptr<File> file, testing::MemoryFileSystem& disk)
        : inner_(std::move(inner)), file_(std::move(file)), disk_(&disk) {}
    [[nodiscard]] const std::string& path() const noexcept override { return inner_->path(); }
    [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
    void append(std::span<const std::byte> bytes) override {
      inner_->append(bytes);
      file_->written.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      file_->modified = disk_->modification_time(path());
    }
    void sync() override {
      inner_->sync();
      file_->synced = file_->written;
    }
    void close() override { inner_->close(); }

   private:
    std::unique_ptr<WritableFile> inner_;
    std::shared_ptr<File> file_;
    testing::MemoryFileSystem* disk_;
  };

  testing::MemoryFileSystem* now_;
  Names seen_;
  Names durable_;
  std::vector<Change> pending_;
};

}  // namespace trainhook::support
