// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/faulty_file_system.hpp>

#include <utility>

#include <fmt/format.h>

namespace trainhook::testing {

FaultyFileSystem::FaultyFileSystem(FileSystem& inner) : FaultyFileSystem(inner, std::make_shared<Faults>()) {}

FaultyFileSystem::FaultyFileSystem(FileSystem& inner, std::shared_ptr<Faults> faults)
    : inner_(&inner), faults_(std::move(faults)) {}

void FaultyFileSystem::fail_at(std::uint64_t n, ErrorCode code) { plan({.at = n, .code = code}); }

void FaultyFileSystem::fail_at(FileOperation kind, std::uint64_t n, ErrorCode code) {
  plan({.at = n, .code = code, .kind = kind});
}

void FaultyFileSystem::fail_from(std::uint64_t n, ErrorCode code) { plan({.at = n, .code = code, .stays = true}); }

void FaultyFileSystem::fail_from(FileOperation kind, std::uint64_t n, ErrorCode code) {
  plan({.at = n, .code = code, .kind = kind, .stays = true});
}

void FaultyFileSystem::set_short_appends(bool are_short) {
  const std::scoped_lock lock(faults_->mutex);
  faults_->short_appends = are_short;
}

void FaultyFileSystem::reset() {
  const std::scoped_lock lock(faults_->mutex);
  faults_->plan.reset();
  faults_->counts = {};
  faults_->total = 0;
  faults_->bytes_read = 0;
  faults_->trace.clear();
}

void FaultyFileSystem::set_callback(std::function<void(FileOperation operation, const std::string& path)> callback) {
  const std::scoped_lock lock(faults_->mutex);
  faults_->callback = std::move(callback);
}

std::uint64_t FaultyFileSystem::count() const {
  const std::scoped_lock lock(faults_->mutex);
  return faults_->total;
}

std::uint64_t FaultyFileSystem::count(FileOperation kind) const {
  const std::scoped_lock lock(faults_->mutex);
  return faults_->counts[static_cast<std::size_t>(kind)];
}

std::uint64_t FaultyFileSystem::bytes_read() const {
  const std::scoped_lock lock(faults_->mutex);
  return faults_->bytes_read;
}

std::vector<std::string> FaultyFileSystem::trace() const {
  const std::scoped_lock lock(faults_->mutex);
  return faults_->trace;
}

std::unique_ptr<ReadableFile> FaultyFileSystem::open_readable(const std::string& path) {
  faults_->begin(FileOperation::OpenReadable, path);
  return std::make_unique<Reading>(faults_, inner_->open_readable(path));
}

std::unique_ptr<WritableFile> FaultyFileSystem::create_writable(const std::string& path, WriteMode mode) {
  faults_->begin(FileOperation::CreateWritable, path);
  return std::make_unique<Writing>(faults_, inner_->create_writable(path, mode));
}

std::unique_ptr<WritableFile> FaultyFileSystem::open_appendable(const std::string& path) {
  faults_->begin(FileOperation::OpenAppendable, path);
  return std::make_unique<Writing>(faults_, inner_->open_appendable(path));
}

void FaultyFileSystem::truncate(const std::string& path, std::uint64_t size) {
  faults_->begin(FileOperation::Truncate, path);
  inner_->truncate(path, size);
}

PathTarget FaultyFileSystem::resolve(const std::string& path) {
  faults_->begin(FileOperation::Resolve, path);
  return inner_->resolve(path);
}

FileSystem& FaultyFileSystem::at_current_directory() {
  FileSystem& inner = inner_->at_current_directory();
  if (&inner == inner_) return *this;
  const std::scoped_lock lock(faults_->mutex);
  std::unique_ptr<FaultyFileSystem>& there = at_directories_[&inner];
  if (there == nullptr) there.reset(new FaultyFileSystem(inner, faults_));
  return *there;
}

bool FaultyFileSystem::exists(const std::string& path) {
  return finds(FileOperation::Exists, path) && inner_->exists(path);
}

bool FaultyFileSystem::is_directory(const std::string& path) {
  return finds(FileOperation::IsDirectory, path) && inner_->is_directory(path);
}

std::uint64_t FaultyFileSystem::file_size(const std::string& path) {
  faults_->begin(FileOperation::FileSize, path);
  return inner_->file_size(path);
}

double FaultyFileSystem::modification_time(const std::string& path) {
  faults_->begin(FileOperation::ModificationTime, path);
  return inner_->modification_time(path);
}

std::vector<std::string> FaultyFileSystem::list_directory(const std::string& path) {
  faults_->begin(FileOperation::ListDirectory, path);
  return inner_->list_directory(path);
}

void FaultyFileSystem::make_directories(const std::string& path) {
  faults_->begin(FileOperation::MakeDirectories, path);
  inner_->make_directories(path);
}

void FaultyFileSystem::remove_file(const std::string& path) {
  faults_->begin(FileOperation::RemoveFile, path);
  inner_->remove_file(path);
}

void FaultyFileSystem::remove_directory(const std::string& path) {
  faults_->begin(FileOperation::RemoveDirectory, path);
  inner_->remove_directory(path);
}

void FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  faults_->begin(FileOperation::Rename, to);
  inner_->rename(from, to);
}

void FaultyFileSystem::sync_directory(const std::string& path) {
  faults_->begin(FileOperation::SyncDirectory, path);
  inner_->sync_directory(path);
}

std::unique_ptr<FileLock> FaultyFileSystem::lock_file(const std::string& path) {
  faults_->begin(FileOperation::LockFile, path);
  return inner_->lock_file(path);
}

void FaultyFileSystem::Faults::begin(FileOperation kind, const std::string& path,
                                     const std::function<void()>& write_half) {
  std::function<void(FileOperation, const std::string&)> call;
  {
    const std::scoped_lock lock(mutex);
    ++total;
    ++counts[static_cast<std::size_t>(kind)];
    trace.push_back(fmt::format("{} {}", file_operation_name(kind), path));
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
  if (write_half && std::exchange(short_appends, false)) write_half();
  if (!plan->stays) plan.reset();
  throw_error(code, fmt::format("cannot {} {}: made to fail by a test", file_operation_name(kind), path));
}

FaultyFileSystem::Reading::Reading(std::shared_ptr<Faults> faults, std::unique_ptr<ReadableFile> inner)
    : faults_(std::move(faults)), inner_(std::move(inner)) {}

std::uint64_t FaultyFileSystem::Reading::size() const {
  faults_->begin(FileOperation::Size, path());
  return inner_->size();
}

void FaultyFileSystem::Reading::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  faults_->begin(FileOperation::Read, path());
  inner_->read_at(offset, into);
  const std::scoped_lock lock(faults_->mutex);
  faults_->bytes_read += into.size();
}

FaultyFileSystem::Writing::Writing(std::shared_ptr<Faults> faults, std::unique_ptr<WritableFile> inner)
    : faults_(std::move(faults)), inner_(std::move(inner)) {}

void FaultyFileSystem::Writing::expect_usable() const {
  if (broken_) throw FailedPreconditionError("the sync of {} failed before; write another file", path());
}

void FaultyFileSystem::Writing::append(std::span<const std::byte> bytes) {
  faults_->begin(FileOperation::Append, path(), [&] {
    if (bytes.size() > 1) inner_->append(bytes.first(bytes.size() / 2));
  });
  expect_usable();
  inner_->append(bytes);
}

void FaultyFileSystem::Writing::reserve(std::uint64_t bytes) {
  faults_->begin(FileOperation::Reserve, path());
  inner_->reserve(bytes);
}

void FaultyFileSystem::Writing::sync() {
  try {
    faults_->begin(FileOperation::Sync, path());
  } catch (...) {
    broken_ = true;
    throw;
  }
  expect_usable();
  inner_->sync();
}

void FaultyFileSystem::Writing::close() {
  faults_->begin(FileOperation::Close, path());
  inner_->close();
}

bool FaultyFileSystem::finds(FileOperation kind, const std::string& path) const {
  try {
    faults_->begin(kind, path);
    return true;
  } catch (const NotFoundError&) { return false; }
}

void FaultyFileSystem::plan(const Plan& plan) {
  const std::scoped_lock lock(faults_->mutex);
  faults_->plan = plan;
}

}  // namespace trainhook::testing
