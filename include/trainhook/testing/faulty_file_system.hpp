// SPDX-License-Identifier: Apache-2.0
/// @file
/// FaultyFileSystem: wraps another file system and fails, counts, records or interrupts its operations on demand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
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
  Reserve,
  OpenAppendable,
  Truncate,
  Resolve,
};

inline constexpr std::size_t kFileOperations = 22;

/// The function's name: `append`, `sync_directory`, ...
[[nodiscard]] constexpr std::string_view file_operation_name(FileOperation operation) noexcept {
  constexpr std::array<std::string_view, kFileOperations> kNames{"open_readable",
                                                                 "size",
                                                                 "read_at",
                                                                 "create_writable",
                                                                 "append",
                                                                 "sync",
                                                                 "close",
                                                                 "exists",
                                                                 "is_directory",
                                                                 "file_size",
                                                                 "modification_time",
                                                                 "list_directory",
                                                                 "make_directories",
                                                                 "remove_file",
                                                                 "remove_directory",
                                                                 "rename",
                                                                 "sync_directory",
                                                                 "lock_file",
                                                                 "reserve",
                                                                 "open_appendable",
                                                                 "truncate",
                                                                 "resolve"};
  return kNames[static_cast<std::size_t>(operation)];
}

/// For tests of failing disks. Operations are numbered from 1 in the order of their calls. If `exists` or
/// `is_directory` is to fail with NotFound, it returns false instead, as on a network disk whose cache is stale. If the
/// sync of a file failed, its later operations fail, too, as on the machine's disk. Several threads may use it;
/// configure it before they start. For calls of the operating system below a FileSystem, see `process_faults.hpp`.
class FaultyFileSystem final : public FileSystem {
 public:
  TRAINHOOK_DECL explicit FaultyFileSystem(FileSystem& inner);

  /// The n-th operation from now on fails with `code` and has no effect. Later ones succeed again.
  TRAINHOOK_DECL void fail_at(std::uint64_t n, ErrorCode code = ErrorCode::ResourceExhausted);

  /// The n-th operation of this kind from now on fails.
  TRAINHOOK_DECL void fail_at(FileOperation kind, std::uint64_t n, ErrorCode code = ErrorCode::ResourceExhausted);

  /// The n-th operation from now on and all later ones fail, as if the disk or the process were gone.
  TRAINHOOK_DECL void fail_from(std::uint64_t n, ErrorCode code = ErrorCode::DataLoss);

  /// The n-th operation of this kind from now on and all later ones of the kind fail. For a file system without locks:
  /// `fail_from(FileOperation::LockFile, 1, ErrorCode::Unimplemented)`.
  TRAINHOOK_DECL void fail_from(FileOperation kind, std::uint64_t n, ErrorCode code = ErrorCode::DataLoss);

  /// Whether a failing append first writes the first half of its bytes, as on a disk that fills up or in a process that
  /// is killed. By default it writes nothing.
  TRAINHOOK_DECL void set_short_appends(bool are_short);

  /// Ends all failures and restarts counts and trace. Keeps the callback.
  TRAINHOOK_DECL void reset();

  /// Sets a callback that is called before every operation, with its path. It may throw instead of the operation, or
  /// end the process.
  TRAINHOOK_DECL void set_callback(std::function<void(FileOperation operation, const std::string& path)> callback);

  /// The number of operations so far, including those that failed.
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t count() const;
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t count(FileOperation kind) const;

  /// The number of bytes that were read so far.
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t bytes_read() const;

  /// All operations so far, each as `name path`.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> trace() const;

  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ReadableFile> open_readable(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> create_writable(const std::string& path,
                                                                             WriteMode mode) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> open_appendable(const std::string& path) override;
  TRAINHOOK_DECL void truncate(const std::string& path, std::uint64_t size) override;
  [[nodiscard]] TRAINHOOK_DECL PathTarget resolve(const std::string& path) override;

  /// Shares failures, counts and trace with this one.
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
    bool short_appends = false;  // until the first append that fails
    std::array<std::uint64_t, kFileOperations> counts{};
    std::uint64_t total = 0;
    std::uint64_t bytes_read = 0;
    std::vector<std::string> trace{};
    std::function<void(FileOperation, const std::string&)> callback{};

    TRAINHOOK_DECL void begin(FileOperation kind, const std::string& path,
                              const std::function<void()>& write_half = {});
  };

  class Reading final : public ReadableFile {
   public:
    TRAINHOOK_DECL Reading(std::shared_ptr<Faults> faults, std::unique_ptr<ReadableFile> inner);
    [[nodiscard]] const std::string& path() const noexcept override { return inner_->path(); }
    [[nodiscard]] TRAINHOOK_DECL std::uint64_t size() const override;
    TRAINHOOK_DECL void read_at(std::uint64_t offset, std::span<std::byte> into) const override;

   private:
    std::shared_ptr<Faults> faults_;
    std::unique_ptr<ReadableFile> inner_;
  };

  class Writing final : public WritableFile {
   public:
    TRAINHOOK_DECL Writing(std::shared_ptr<Faults> faults, std::unique_ptr<WritableFile> inner);
    [[nodiscard]] const std::string& path() const noexcept override { return inner_->path(); }
    [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
    TRAINHOOK_DECL void append(std::span<const std::byte> bytes) override;
    TRAINHOOK_DECL void reserve(std::uint64_t bytes) override;
    TRAINHOOK_DECL void sync() override;
    TRAINHOOK_DECL void close() override;

   private:
    TRAINHOOK_DECL void expect_usable() const;

    std::shared_ptr<Faults> faults_;
    std::unique_ptr<WritableFile> inner_;
    bool broken_ = false;  // a sync failed
  };

  TRAINHOOK_DECL FaultyFileSystem(FileSystem& inner, std::shared_ptr<Faults> faults);
  TRAINHOOK_DECL void plan(const Plan& plan);
  // Begins an operation that asks for a path. False if it is to fail with NotFound.
  [[nodiscard]] TRAINHOOK_DECL bool finds(FileOperation kind, const std::string& path) const;

  FileSystem* inner_;
  std::shared_ptr<Faults> faults_;
  std::map<FileSystem*, std::unique_ptr<FaultyFileSystem>> at_directories_;  // by the inner file system
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/faulty_file_system.ipp>
#endif
