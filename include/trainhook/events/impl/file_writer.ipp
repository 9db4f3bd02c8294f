// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of file_writer.hpp.
#pragma once

#include <trainhook/events/file_writer.hpp>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook {

TRAINHOOK_DECL FileWriter::FileWriter(std::string logdir, FileWriterOptions options)
    : logdir_(std::move(logdir)),
      max_queue_(options.max_queue),
      flush_secs_((std::min<Duration>)(options.flush_secs, std::chrono::hours(24))),
      clock_(options.clock != nullptr ? *options.clock : system_clock()),
      file_(options.file_system != nullptr ? *options.file_system : posix_file_system(), clock_, logdir_,
            options.filename_suffix) {
  if (max_queue_ == 0) throw InvalidArgumentError("FileWriter of {}: max_queue must be at least 1", logdir_);
  if (flush_secs_ <= Duration::zero())
    throw InvalidArgumentError("FileWriter of {}: flush_secs must be longer than 0", logdir_);
}

TRAINHOOK_DECL FileWriter::~FileWriter() {
  try {
    close();
  } catch (...) { log_error("FileWriter of {}: {}", logdir_, describe(std::current_exception())); }
}

TRAINHOOK_DECL void FileWriter::add_scalar(std::string_view tag, double value, std::int64_t step) {
  add([&](std::string& bytes, double now) {
    detail::append_event(bytes, now, step, [&](WireWriter& event) {
      WireWriter summary(event, detail::EventField::kSummary);
      detail::write_scalar_summary(summary, tag, static_cast<float>(value));
    });
  });
}

TRAINHOOK_DECL void FileWriter::add_histogram(std::string_view tag, Tensor values, std::int64_t step) {
  if (tag.empty()) throw InvalidArgumentError("a summary needs a tag: TensorBoard drops a value that has none");
  check_histogram_values(tag, values);
  detail::PendingHistogram pending{clock_.wall_seconds(), step, std::string(tag), std::move(values)};
  std::unique_lock lock(mutex_);
  wait_for_room(lock);
  pending_.add_histogram(std::move(pending));
  added(lock);
}

TRAINHOOK_DECL void FileWriter::add_summary(std::string_view summary, std::int64_t step) {
  add([&](std::string& bytes, double now) { append_summary_event(bytes, now, step, summary); });
}

TRAINHOOK_DECL void FileWriter::add_session_log(const SessionLog& session_log, std::int64_t step) {
  add([&](std::string& bytes, double now) { append_session_log_event(bytes, now, step, session_log); });
}

TRAINHOOK_DECL void FileWriter::add_graph(std::string_view graph_def, std::int64_t global_step) {
  add([&](std::string& bytes, double now) { append_graph_event(bytes, now, global_step, graph_def); });
}

TRAINHOOK_DECL void FileWriter::add_meta_graph(std::string_view meta_graph_def, std::int64_t global_step) {
  add([&](std::string& bytes, double now) { append_meta_graph_event(bytes, now, global_step, meta_graph_def); });
}

TRAINHOOK_DECL void FileWriter::add_run_metadata(std::string_view run_metadata, std::string_view tag,
                                                 std::int64_t global_step) {
  add([&](std::string& bytes, double now) {
    if (run_metadata_tags_.contains(tag)) {
      throw InvalidArgumentError("run metadata {} was already added to {}: give each its own tag", tag, logdir_);
    }
    append_run_metadata_event(bytes, now, global_step, tag, run_metadata);
    run_metadata_tags_.emplace(tag);
  });
}

TRAINHOOK_DECL bool FileWriter::has_run_metadata(std::string_view tag) {
  const std::scoped_lock lock(mutex_);
  return run_metadata_tags_.contains(tag);
}

TRAINHOOK_DECL void FileWriter::flush() {
  std::unique_lock lock(mutex_);
  wait_until_written(lock);
  throw_failure();
}

TRAINHOOK_DECL void FileWriter::sync() {
  std::unique_lock lock(mutex_);
  if (thread_.joinable()) {
    const std::uint64_t request = ++syncs_asked_;
    wake_writer();
    done_.wait(lock, [&] { return syncs_done_ >= request; });
  }
  throw_failure();
}

TRAINHOOK_DECL void FileWriter::close() {
  std::unique_lock lock(mutex_);
  if (closed_) return;
  closed_ = true;
  room_.notify_all();
  wake_writer();
  std::thread writing = std::move(thread_);
  lock.unlock();
  if (writing.joinable()) writing.join();
  lock.lock();
  if (failure_ == nullptr) {
    file_.close();
  } else {
    throw_failure();
  }
}

TRAINHOOK_DECL void FileWriter::wait_for_room(std::unique_lock<std::mutex>& lock) {
  const auto has_room = [this] {
    return pending_.size() < max_queue_ && (pending_.byte_size() < kMostBytes || pending_.empty());
  };
  if (!has_room() && failure_ == nullptr && !closed_) {
    wake_writer();
    room_.wait(lock, [&] { return has_room() || failure_ != nullptr || closed_; });
  }
  if (closed_) throw FailedPreconditionError("the FileWriter of {} is closed: it takes no more events", logdir_);
  throw_failure();
  if (!thread_.joinable()) thread_ = std::thread([this] { write_until_closed(); });
}

TRAINHOOK_DECL void FileWriter::added(std::unique_lock<std::mutex>& lock) {
  const bool worth_waking = ++added_ == 1 || 2 * pending_.size() >= max_queue_ || pending_.byte_size() >= kManyBytes;
  if (!worth_waking || woken_) return;
  woken_ = true;
  lock.unlock();
  work_.notify_one();
}

TRAINHOOK_DECL void FileWriter::wait_until_written(std::unique_lock<std::mutex>& lock) {
  if (written_ >= added_) return;
  const std::uint64_t target = added_;
  wake_writer();
  done_.wait(lock, [&] { return written_ >= target; });
}

TRAINHOOK_DECL void FileWriter::throw_failure() {
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

TRAINHOOK_DECL void FileWriter::write_until_closed() noexcept {
  std::unique_lock lock(mutex_);
  detail::EventBatch batch;
  for (bool last = false; !last;) {
    // By the machine's time whatever clock was given: how soon bytes reach the file is no part of what a program
    // computes.
    work_.wait_for(lock, flush_secs_, [this] { return woken_ || closed_; });
    woken_ = false;
    last = closed_;  // nothing is added any more: what waits now is all
    if (pending_.empty() && syncs_done_ == syncs_asked_) continue;
    std::swap(batch, pending_);
    const std::uint64_t events = added_;
    const std::uint64_t syncs = syncs_asked_;
    room_.notify_all();
    lock.unlock();
    const std::exception_ptr failure = write(batch, syncs != syncs_done_);
    batch.clear();
    lock.lock();
    if (failure_ == nullptr) failure_ = failure;
    written_ = events;
    syncs_done_ = syncs;
    room_.notify_all();
    done_.notify_all();
  }
}

TRAINHOOK_DECL std::exception_ptr FileWriter::write(const detail::EventBatch& batch, bool synced) noexcept {
  bool written = batch.empty();
  try {
    try {
      if (!written) {
        records_.clear();
        batch.append_records(records_);
        file_.write(records_);
        written = true;
      }
      if (synced) file_.sync();
      return nullptr;
    } catch (const Error& error) {
      const std::string_view are_lost = batch.size() == 1 ? " event is lost" : " events are lost";
      const std::string lost =
          written ? "what this file holds may be lost" : fmt::format("{}{}", batch.size(), are_lost);
      throw_error(error.code(),
                  fmt::format("{}; {}, later events for {} go to a new file", error.what(), lost, logdir_));
    }
  } catch (...) { return std::current_exception(); }
}

}  // namespace trainhook
