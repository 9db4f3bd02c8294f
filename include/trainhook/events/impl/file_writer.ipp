// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/file_writer.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/thread.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/events/event_file.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

struct FileWriter::Impl {
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // that may be queued, beside the number of events
  static constexpr std::size_t kManyBytes = std::size_t{1} << 20;   // that are worth waking the writing thread

  Impl(std::string directory, const FileWriterOptions& options)
      : logdir(std::move(directory)),
        max_queue(options.max_queue),
        flush_secs((std::min<Duration>)(options.flush_secs, std::chrono::hours(24))),
        on_error(options.on_error),
        clock(detail::given_or_system(options.clock)),
        file(detail::given_or_posix(options.file_system), clock, logdir, options.filename_suffix) {}

  /// Queues the event that `make_event` returns for the time; it is called under the lock.
  template <class MakeEvent>
  void add(const MakeEvent& make_event) {
    expect_here();
    const double now = clock.wall_seconds();
    std::unique_lock lock(mutex);
    wait_for_room(lock);
    const detail::EventMessage event = make_event(now);
    if (event.summary || event.tagged_run_metadata) add_start(now);  // what readers drop after a START record
    pending.add_encoded([&](std::string& bytes) { detail::append_event(bytes, event); });
    added_one(lock);
  }

  /// Queues the START record that `restart_at` has put off.
  inline void add_start(double now);

  inline void wait_for_room(std::unique_lock<std::mutex>& lock);

  /// Wakes the writing thread for the first event, which creates the file, and for a queue that fills; otherwise it
  /// wakes by itself.
  inline void added_one(std::unique_lock<std::mutex>& lock);

  void wake_writer(std::unique_lock<std::mutex>& lock) {
    if (is_in_place) return write_pending(lock);
    woken = true;
    work.notify_one();
  }

  inline void wait_until_written(std::unique_lock<std::mutex>& lock);
  inline void throw_failure();
  inline void start_thread(std::unique_lock<std::mutex>& lock);
  inline void write_until_closed() noexcept;
  inline void write_pending(std::unique_lock<std::mutex>& lock) noexcept;

  /// Before any lock: in a forked child another thread's lock is never released.
  void expect_here() const { process.expect_here("this FileWriter"); }

  /// What one batch came to.
  struct Written {
    std::uint64_t lost = 0;
    std::exception_ptr error{};  // null, or what went wrong and what it cost
  };
  inline Written write(bool synced) noexcept;

  /// Logs the first error. Not under the lock: a sink may be anything.
  inline void warn_once(const std::exception_ptr& error) noexcept;

  inline void close();

  const std::string logdir;
  const std::size_t max_queue;
  const Duration flush_secs;
  const EventErrors on_error;
  Clock& clock;

  std::mutex mutex;
  detail::WaitCondition work;  // for the writing thread
  detail::WaitCondition room;  // for threads that add
  detail::WaitCondition done;  // for threads that flush
  detail::EventBatch pending;
  std::string summary;  // of the scalar that is just added
  std::set<std::string> run_metadata_tags;
  std::optional<std::int64_t> start;  // the step of a START record that is put off
  std::exception_ptr failure;         // not thrown yet
  std::uint64_t added = 0;
  std::uint64_t written = 0;
  std::uint64_t lost = 0;
  std::uint64_t syncs_asked = 0;
  std::uint64_t syncs_done = 0;
  bool woken = false;
  bool is_writing = false;
  bool closed = false;
  bool is_in_place = false;  // there can be no thread, so whoever would wake it writes
  Duration last_write{};     // in place

  detail::EventFile file;  // used by the writing thread alone, as what follows, and by `close` after it
  detail::EventBatch batch;
  std::string records;
  bool warned = false;
  detail::Thread thread;
  detail::ProcessMark process;
};

FileWriter::FileWriter(std::string logdir, FileWriterOptions options)
    : impl_(std::make_unique<Impl>(std::move(logdir), options)) {
  if (impl_->max_queue == 0)
    throw InvalidArgumentError("FileWriter of {}: max_queue must be at least 1", impl_->logdir);
  if (impl_->flush_secs <= Duration::zero())
    throw InvalidArgumentError("FileWriter of {}: flush_secs must be longer than 0", impl_->logdir);
}

FileWriter::~FileWriter() {
  if (!impl_->process.is_here()) {
    static_cast<void>(impl_.release());
    return;
  }
  try {
    close();
  } catch (...) { log_error("FileWriter of {}: {}", impl_->logdir, describe(std::current_exception())); }
}

void FileWriter::check_name() const { impl_->file.check_name(); }

const std::string& FileWriter::get_logdir() const noexcept { return impl_->logdir; }

EventErrors FileWriter::on_error() const noexcept { return impl_->on_error; }

void FileWriter::add_scalar(std::string_view tag, double value, std::int64_t step) {
  impl_->add([&](double now) {
    impl_->summary.clear();
    detail::append_summary(impl_->summary, {.tag = tag, .simple_value = static_cast<float>(value)});
    return detail::EventMessage{.wall_time = now, .step = step, .summary = impl_->summary};
  });
}

void FileWriter::add_histogram(std::string_view tag, Tensor values, std::int64_t step) {
  if (tag.empty()) throw InvalidArgumentError("a summary needs a tag: TensorBoard drops a value without one");
  detail::check_histogram_values(tag, values);
  detail::PendingHistogram pending{impl_->clock.wall_seconds(), step, std::string(tag), std::move(values)};
  impl_->expect_here();
  std::unique_lock lock(impl_->mutex);
  impl_->wait_for_room(lock);
  impl_->add_start(pending.wall_time);
  impl_->pending.add_histogram(std::move(pending));
  impl_->added_one(lock);
}

void FileWriter::add_summary(std::string_view summary, std::int64_t step) {
  impl_->add([&](double now) { return detail::EventMessage{.wall_time = now, .step = step, .summary = summary}; });
}

void FileWriter::add_session_log(const SessionLog& session_log, std::int64_t step) {
  const SessionLog written{.status = session_log.status,
                           .checkpoint_path = detail::utf8_text(session_log.checkpoint_path, "a checkpoint's path"),
                           .msg = detail::utf8_text(session_log.msg, "the message of a session log")};
  impl_->add([&](double now) {
    if (session_log.status == SessionLog::Start)
      step = (std::min)(step, std::exchange(impl_->start, std::nullopt).value_or(step));
    return detail::EventMessage{.wall_time = now, .step = step, .session_log = written};
  });
}

void FileWriter::restart_at(std::int64_t step) {
  impl_->expect_here();
  const std::scoped_lock lock(impl_->mutex);
  impl_->start = (std::min)(step, impl_->start.value_or(step));
}

void FileWriter::add_graph(std::string_view graph_def, std::int64_t global_step) {
  impl_->add(
      [&](double now) { return detail::EventMessage{.wall_time = now, .step = global_step, .graph_def = graph_def}; });
}

void FileWriter::add_meta_graph(std::string_view meta_graph_def, std::int64_t global_step) {
  impl_->add([&](double now) {
    return detail::EventMessage{.wall_time = now, .step = global_step, .meta_graph_def = meta_graph_def};
  });
}

void FileWriter::add_run_metadata(std::string_view run_metadata, std::string_view tag, std::int64_t global_step) {
  detail::expect_utf8(tag, "the tag of run metadata");
  impl_->add([&](double now) {
    if (!impl_->run_metadata_tags.insert(std::string(tag)).second) {
      throw InvalidArgumentError("run metadata {} was already added to {}: give each its own tag", tag, impl_->logdir);
    }
    return detail::EventMessage{.wall_time = now,
                                .step = global_step,
                                .tagged_run_metadata = detail::TaggedRunMetadataMessage{tag, run_metadata}};
  });
}

bool FileWriter::has_run_metadata(std::string_view tag) {
  impl_->expect_here();
  const std::scoped_lock lock(impl_->mutex);
  return impl_->run_metadata_tags.contains(std::string(tag));
}

void FileWriter::flush() {
  impl_->expect_here();
  std::unique_lock lock(impl_->mutex);
  impl_->wait_until_written(lock);
  impl_->throw_failure();
}

void FileWriter::sync() {
  impl_->expect_here();
  std::unique_lock lock(impl_->mutex);
  if (!impl_->closed && (impl_->is_in_place || impl_->thread.joinable())) {
    const std::uint64_t request = ++impl_->syncs_asked;
    impl_->wake_writer(lock);
    impl_->done.wait(lock, [&] { return impl_->syncs_done >= request; });
  }
  impl_->throw_failure();
}

void FileWriter::close() { impl_->close(); }

std::uint64_t FileWriter::lost_events() {
  impl_->expect_here();
  const std::scoped_lock lock(impl_->mutex);
  return impl_->lost;
}

void FileWriter::Impl::close() {
  expect_here();
  std::unique_lock lock(mutex);
  if (closed) return;
  closed = true;
  room.notify_all();
  wake_writer(lock);
  detail::Thread writing = std::move(thread);
  lock.unlock();
  writing.join();
  lock.lock();
  throw_failure();
  lock.unlock();
  try {
    file.close();
  } catch (...) {
    if (on_error == EventErrors::Throw) throw;
    warn_once(std::current_exception());
  }
  if (on_error == EventErrors::Warn && lost > 0)
    log_warning("FileWriter of {}: {} of {} events were lost, because they could not be written", logdir, lost, added);
}

void FileWriter::Impl::wait_for_room(std::unique_lock<std::mutex>& lock) {
  if (!is_in_place && !closed && !thread.joinable()) start_thread(lock);
  const auto has_room = [this] {
    return pending.size() < max_queue && (pending.byte_size() < kMostBytes || pending.empty());
  };
  if (!has_room() && failure == nullptr && !closed) {
    wake_writer(lock);
    room.wait(lock, [&] { return has_room() || failure != nullptr || closed; });
  }
  if (closed) throw FailedPreconditionError("the FileWriter of {} is closed: it takes no more events", logdir);
  throw_failure();
}

void FileWriter::Impl::start_thread(std::unique_lock<std::mutex>& lock) {
  try {
    thread = detail::Thread("the event writer", [this] { write_until_closed(); });
  } catch (const ResourceExhaustedError& error) {
    is_in_place = true;
    lock.unlock();  // a sink may be anything
    log_warning("FileWriter of {}: {}; events are written by whoever adds them", logdir, error.what());
    lock.lock();
  }
}

void FileWriter::Impl::add_start(double now) {
  if (!start) return;
  pending.add_encoded([&](std::string& bytes) {
    detail::append_event(bytes,
                         {.wall_time = now, .step = *start, .session_log = SessionLog{.status = SessionLog::Start}});
  });
  ++added;
  start.reset();
}

void FileWriter::Impl::added_one(std::unique_lock<std::mutex>& lock) {
  ++added;
  const bool is_first = added == pending.size();  // nothing was written yet
  const bool worth_waking = is_first || 2 * pending.size() >= max_queue || pending.byte_size() >= kManyBytes;
  if (is_in_place) {
    const Duration now = clock.monotonic_now();
    if (!worth_waking && now - last_write < flush_secs) return;
    last_write = now;
    return write_pending(lock);
  }
  if (!worth_waking || woken) return;
  woken = true;
  lock.unlock();
  work.notify_one();
}

void FileWriter::Impl::wait_until_written(std::unique_lock<std::mutex>& lock) {
  if (written >= added) return;
  const std::uint64_t target = added;
  wake_writer(lock);
  done.wait(lock, [&] { return written >= target; });
}

void FileWriter::Impl::throw_failure() {
  if (failure != nullptr) std::rethrow_exception(std::exchange(failure, nullptr));
}

void FileWriter::Impl::write_until_closed() noexcept {
  std::unique_lock lock(mutex);
  for (bool last = false; !last;) {
    // By the system's time, whatever clock was given: when bytes reach the file changes no result.
    work.wait_for(lock, flush_secs, [this] { return woken || closed; });
    woken = false;
    last = closed;  // nothing more is added
    write_pending(lock);
  }
}

void FileWriter::Impl::write_pending(std::unique_lock<std::mutex>& lock) noexcept {
  done.wait(lock, [this] { return !is_writing; });  // without a thread, several may come
  if (pending.empty() && syncs_done == syncs_asked) return;
  is_writing = true;
  std::swap(batch, pending);
  const std::uint64_t events = added;
  const std::uint64_t syncs = syncs_asked;
  room.notify_all();
  lock.unlock();
  const Written outcome = write(syncs != syncs_done);
  batch.clear();
  if (on_error == EventErrors::Warn) warn_once(outcome.error);
  lock.lock();
  is_writing = false;
  lost += outcome.lost;
  if (on_error == EventErrors::Throw && failure == nullptr) failure = outcome.error;
  written = events;
  syncs_done = syncs;
  room.notify_all();
  done.notify_all();
}

FileWriter::Impl::Written FileWriter::Impl::write(bool synced) noexcept {
  Written outcome{.lost = batch.size()};
  try {
    try {
      if (!batch.empty()) {
        batch.append_records(records);
        file.write(records);
        outcome.lost = 0;
      }
      if (synced) file.sync();
    } catch (const Error& error) {
      const std::string cost =
          outcome.lost == 0 ? "events in this file may be lost"
                            : fmt::format("{} {} lost", outcome.lost, outcome.lost == 1 ? "event is" : "events are");
      throw_error(error.code(),
                  fmt::format("{}; {}, later events for {} go to a new file", error.what(), cost, logdir));
    }
  } catch (...) { outcome.error = std::current_exception(); }
  detail::clear_events(records);
  return outcome;
}

void FileWriter::Impl::warn_once(const std::exception_ptr& error) noexcept {
  if (error == nullptr || std::exchange(warned, true)) return;
  log_warning(
      "FileWriter of {}: {}. The run continues; this is logged once, and the number of lost events at the end. If that "
      "must end the run, set event_errors (on_error of a FileWriter of your own) to EventErrors::Throw",
      logdir, describe(error));
}

}  // namespace trainhook
