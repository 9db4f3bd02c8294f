// SPDX-License-Identifier: Apache-2.0
/// @file
/// FaultyFileSystem: passes everything on to another file system, and fails, counts, records or interrupts on demand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::testing {

enum class FileOperation {
  OpenReadable,
  Size,
  Read,
  CreateWritable,
  Append,
  Sync,
  Close,
  Exists,
  IsDirectory,
  FileSize,
  ModificationTime,
  ListDirectory,
  MakeDirectories,
  RemoveFile,
  RemoveDirectory,
  Rename,
  SyncDirectory,
  LockFile,
};

inline constexpr std::size_t kFileOperations = 18;

/// The function's name: `append`, `sync_directory`, ...
[[nodiscard]] constexpr std::string_view file_operation_name(FileOperation operation) noexcept {
  constexpr std::array<std::string_view, kFileOperations> kNames{
      "open_readable", "size",           "read_at",          "create_writable", "append",           "sync",
      "close",         "exists",         "is_directory",     "file_size",       "modification_time",
      "list_directory", "make_directories", "remove_file",    "remove_directory", "rename",           "sync_directory",  "lock_file"};
  return kNames[static_cast<std::size_t>(operation)];
}

/// Wraps a file system for tests of what happens when the disk does not work. Operations are numbered from 1 as they come. May be used from
/// several threads; set it up before they start.
class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(FileSystem& inner) : inner_(&inner), faults_(std::make_shared<Faults>()) {}

  /// The n-th operation of any kind from now on fails with this code, without being done. Later ones work again.
  void fail_at(std::uint64_t n, ErrorCode code = ErrorCode::ResourceExhausted) { plan({.at = n, .code = code}); }

  /// The n-th operation of this kind from now on fails.
  void fail_at(FileOperation kind, std::uint64_t n, ErrorCode code = ErrorCode::ResourceExhausted) {
    plan({.at = n, .code = code, .kind = kind});
  }

  /// The n-th operation from now on and all after it fail: the disk is gone, or the process that would do them.
  void fail_from(std::uint64_t n, ErrorCode code = ErrorCode::DataLoss) { plan({.at = n, .code = code, .stays = true}); }

  /// Everything works again, counts and trace begin anew; the callback stays.
  void reset() {
    const std::scoped_lock lock(faults_->mutex);
    faults_->plan.reset();
    faults_->counts = {};
    faults_->total = 0;
    faults_->trace.clear();
  }

  /// Called before every operation, with the path that it is about; may throw in the operation's place, or end the process.
  void set_callback(std::function<void(FileOperation operation, const std::string& path)> callback) {
    const std::scoped_lock lock(faults_->mutex);
    faults_->callback = std::move(callback);
  }

  /// Operations begun so far, those that failed included.
  [[nodiscard]] std::uint64_t count() const {
    const std::scoped_lock lock(faults_->mutex);
    return faults_->total;
  }
  [[nodiscard]] std::uint64_t count(FileOperation kind) const {
    const std::scoped_lock lock(faults_->mutex);
    return faults_->counts[static_cast<std::size_t>(kind)];
  }

  /// Each operation so far as `name path`.
  [[nodiscard]] std::vector<std::string> trace() const {
    const std::scoped_lock lock(faults_->mutex);
    return faults_->trace;
  }

  [[nodiscard]] std::unique_ptr<ReadableFile> open_readable(const std::string& path) override {
    faults_->begin(FileOperation::OpenReadable, path);
    return std::make_unique<Reading>(faults_, inner_->open_readable(path));
  }
  [[nodiscard]] std::unique_ptr<WritableFile> create_writable(const std::string& path, WriteMode mode) override {
    faults_->begin(FileOperation::CreateWritable, path);
    return std::make_unique<Writing>(faults_, inner_->create_writable(path, mode));
  }
  [[nodiscard]] bool exists(const std::string& path) override {
    faults_->begin(FileOperation::Exists, path);
    return inner_->exists(path);
  }
  [[nodiscard]] bool is_directory(const std::string& path) override {
    faults_->begin(FileOperation::IsDirectory, path);
    return inner_->is_directory(path);
  }
  [[nodiscard]] std::uint64_t file_size(const std::string& path) override {
    faults_->begin(FileOperation::FileSize, path);
    return inner_->file_size(path);
  }
  [[nodiscard]] double modification_time(const std::string& path) override {
    faults_->begin(FileOperation::ModificationTime, path);
    return inner_->modification_time(path);
  }
  [[nodiscard]] std::vector<std::string> list_directory(const std::string& path) override {
    faults_->begin(FileOperation::ListDirectory, path);
    return inner_->list_directory(path);
  }
  void make_directories(const std::string& path) override {
    faults_->begin(FileOperation::MakeDirectories, path);
    inner_->make_directories(path);
  }
  void remove_file(const std::string& path) override {
    faults_->begin(FileOperation::RemoveFile, path);
    inner_->remove_file(path);
  }
  void remove_directory(const std::string& path) override {
    faults_->begin(FileOperation::RemoveDirectory, path);
    inner_->remove_directory(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    faults_->begin(FileOperation::Rename, to);
    inner_->rename(from, to);
  }
  void sync_directory(const std::string& path) override {
    faults_->begin(FileOperation::SyncDirectory, path);
    inner_->sync_directory(path);
  }
  [[nodiscard]] std::unique_ptr<FileLock> lock_file(const std::string& path) override {
    faults_->begin(FileOperation::LockFile, path);
    return inner_->lock_file(path);
  }

 private:
  struct Plan {
    std::uint64_t at = 0;
    ErrorCode code{};
    std::optional<FileOperation> kind{};
    bool stays = false;
  };

  /// Shared with the files, which may outlive the file system.
  struct Faults {
    mutable std::mutex mutex{};
    std::optional<Plan> plan{};
    std::array<std::uint64_t, kFileOperations> counts{};
    std::uint64_t total = 0;
    std::vector<std::string> trace{};
    std::function<void(FileOperation, const std::string&)> callback{};

    void begin(FileOperation kind, const std::string& path) {
      std::function<void(FileOperation, const std::string&)> call;
      {
        const std::scoped_lock lock(mutex);
        ++total;
        ++counts[static_cast<std::size_t>(kind)];
        trace.push_back(str_cat(file_operation_name(kind), " ", path));
        call = callback;
      }
      if (call) call(kind, path);
      const std::scoped_lock lock(mutex);
      if (!plan || (plan->kind && *plan->kind != kind)) return;
      if (plan->at > 1) {
        --plan->at;
        return;
      }
      const ErrorCode code = plan->code;
      if (!plan->stays) plan.reset();
      throw_error(code, str_cat("cannot ", file_operation_name(kind), " ", path, ": made to fail by a test"));
    }
  };

  class Reading final : public ReadableFile {
   public:
    Reading(std::shared_ptr<Faults> faults, std::unique_ptr<ReadableFile> inner) : faults_(std::move(faults)), inner_(std::move(inner)) {}
    [[nodiscard]] const std::string& path() const noexcept override { return inner_->path(); }
    [[nodiscard]] std::uint64_t size() const override {
      faults_->begin(FileOperation::Size, path());
      return inner_->size();
    }
    void read_at(std::uint64_t offset, std::span<std::byte> into) const override {
      faults_->begin(FileOperation::Read, path());
      inner_->read_at(offset, into);
    }

   private:
    std::shared_ptr<Faults> faults_;
    std::unique_ptr<ReadableFile> inner_;
  };

  class Writing final : public WritableFile {
   public:
    Writing(std::shared_ptr<Faults> faults, std::unique_ptr<WritableFile> inner) : faults_(std::move(faults)), inner_(std::move(inner)) {}
    [[nodiscard]] const std::string& path() const noexcept override { return inner_->path(); }
    [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
    void append(std::span<const std::byte> bytes) override {
      faults_->begin(FileOperation::Append, path());
      inner_->append(bytes);
    }
    void sync() override {
      faults_->begin(FileOperation::Sync, path());
      inner_->sync();
    }
    void close() override {
      faults_->begin(FileOperation::Close, path());
      inner_->close();
    }

   private:
    std::shared_ptr<Faults> faults_;
    std::unique_ptr<WritableFile> inner_;
  };

  void plan(const Plan& plan) {
    const std::scoped_lock lock(faults_->mutex);
    faults_->plan = plan;
  }

  FileSystem* inner_;
  std::shared_ptr<Faults> faults_;
};

}  // namespace trainhook::testing
