// SPDX-License-Identifier: Apache-2.0
/// @file
/// FileWriter: adds events to a file for TensorBoard without holding up the loop.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/event.hpp>
#include <trainhook/events/event_file.hpp>
#include <trainhook/events/event_queue.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

struct FileWriterOptions {
  /// Events that may wait for the writing thread before an `add_...` waits for it.
  std::size_t max_queue = 1024;
  /// Events reach the file at the latest after this time; TensorBoard looks every five seconds. TensorFlow's default is two minutes.
  Duration flush_secs = std::chrono::seconds(5);
  /// Ends the file's name.
  std::string filename_suffix{};
  FileSystem* file_system = nullptr;  ///< null: this machine's disk
  Clock* clock = nullptr;             ///< null: this machine's clocks
};

/// Writes events to a new file in `logdir`, which is created with the first event. An `add_...` puts the event into a queue; a thread of
/// this writer counts histograms and writes, each batch in one piece. Any thread may add.
///
/// A write that fails is reported by the next `add_...`, `flush`, `sync` or `close`, with the number of events that it cost; the event that
/// is just being added is not added. The file is abandoned and later events go to another one: readers find nothing behind a torn record.
///
/// After restoring step R, call `add_session_log({SessionLog::Start}, R + 1)` first: TensorBoard then drops what the lost steps wrote.
/// One writer for a directory (`FileWriters`): two that write the same tags erase each other's data in TensorBoard.
/// (TensorFlow: tf.compat.v1.summary.FileWriter.)
class FileWriter {
 public:
  /// Touches no disk. @throws InvalidArgumentError for options that make no sense.
  explicit FileWriter(std::string logdir, FileWriterOptions options = {})
      : logdir_(std::move(logdir)),
        max_queue_(options.max_queue),
        flush_secs_((std::min<Duration>)(options.flush_secs, std::chrono::hours(24))),
        clock_(options.clock != nullptr ? *options.clock : system_clock()),
        file_(options.file_system != nullptr ? *options.file_system : posix_file_system(), clock_, logdir_, options.filename_suffix) {
    if (max_queue_ == 0) throw InvalidArgumentError("FileWriter of ", logdir_, ": max_queue must be at least 1");
    if (flush_secs_ <= Duration::zero()) throw InvalidArgumentError("FileWriter of ", logdir_, ": flush_secs must be longer than 0");
  }
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Closes; a failure that nobody was told of is logged.
  ~FileWriter() {
    try {
      close();
    } catch (...) {
      log_error("FileWriter of ", logdir_, ": ", describe(std::current_exception()));
    }
  }

  /// A point on the curve `tag`, stored as float. Allocates nothing in the steady state.
  void add_scalar(std::string_view tag, double value, std::int64_t step) {
    add([&](std::string& bytes, double now) {
      detail::append_event(bytes, now, step, [&](WireWriter& event) {
        WireWriter summary(event, detail::EventField::kSummary);
        detail::write_scalar_summary(summary, tag, static_cast<float>(value));
      });
    });
  }

  /// A histogram of numbers that lie in a row: a vector, array, span. They are copied here and counted on the writing thread.
  /// @throws InvalidArgumentError naming `tag` where a value is NaN or infinite.
  template <std::ranges::contiguous_range Values>
    requires std::ranges::sized_range<Values> && HistogramElement<std::ranges::range_value_t<Values>>
  void add_histogram(std::string_view tag, const Values& values, std::int64_t step) {
    using Value = std::ranges::range_value_t<Values>;
    const std::span<const Value> elements(std::ranges::data(values), std::ranges::size(values));
    const Shape shape{static_cast<std::int64_t>(elements.size())};
    if constexpr (TensorElement<Value> && !std::is_same_v<Value, bool>) {
      add_histogram(tag, Tensor::copy_of(elements, shape), step);
    } else {
      Tensor numbers = Tensor::uninitialized(DType::Double, shape);
      std::ranges::copy(elements, numbers.overwrite_data<double>().begin());
      add_histogram(tag, std::move(numbers), step);
    }
  }

  /// A histogram of a tensor's elements, which are not copied unless somebody writes to the tensor before they are counted.
  void add_histogram(std::string_view tag, Tensor values, std::int64_t step) {
    if (tag.empty()) throw InvalidArgumentError("a summary needs a tag: TensorBoard drops a value that has none");
    check_histogram_values(tag, values);
    detail::PendingHistogram pending{clock_.wall_seconds(), step, std::string(tag), std::move(values)};
    std::unique_lock lock(mutex_);
    wait_for_room(lock);
    pending_.add_histogram(std::move(pending));
    added(lock);
  }

  /// An encoded image; `media/png.hpp` encodes pixels.
  void add_image(std::string_view tag, const EncodedImage& image, std::int64_t step) { add_summary(image_summary(tag, image), step); }

  /// A text in Markdown.
  void add_text(std::string_view tag, std::string_view markdown, std::int64_t step) { add_summary(text_summary(tag, markdown), step); }

  /// A serialized Summary, as the functions of `summary.hpp` and the summary operations of a graph give it.
  void add_summary(std::string_view summary, std::int64_t step) {
    add([&](std::string& bytes, double now) { append_summary_event(bytes, now, step, summary); });
  }

  void add_session_log(const SessionLog& session_log, std::int64_t step) {
    add([&](std::string& bytes, double now) { append_session_log_event(bytes, now, step, session_log); });
  }

  /// A serialized GraphDef, for the Graphs dashboard.
  void add_graph(std::string_view graph_def, std::int64_t global_step = 0) {
    add([&](std::string& bytes, double now) { append_graph_event(bytes, now, global_step, graph_def); });
  }

  /// A serialized MetaGraphDef. TensorBoard shows none: add the graph too.
  void add_meta_graph(std::string_view meta_graph_def, std::int64_t global_step = 0) {
    add([&](std::string& bytes, double now) { append_meta_graph_event(bytes, now, global_step, meta_graph_def); });
  }

  /// A serialized RunMetadata under a tag of its own. @throws InvalidArgumentError for a tag that this writer had before.
  void add_run_metadata(std::string_view run_metadata, std::string_view tag, std::int64_t global_step = 0) {
    add([&](std::string& bytes, double now) {
      if (run_metadata_tags_.contains(tag)) {
        throw InvalidArgumentError("run metadata ", tag, " was already added to ", logdir_, ": give each its own tag");
      }
      append_run_metadata_event(bytes, now, global_step, tag, run_metadata);
      run_metadata_tags_.emplace(tag);
    });
  }
  [[nodiscard]] bool has_run_metadata(std::string_view tag) {
    const std::scoped_lock lock(mutex_);
    return run_metadata_tags_.contains(tag);
  }

  /// Returns when all events added before have been handed to the system: they survive the end of this process. Throws where that failed.
  void flush() {
    std::unique_lock lock(mutex_);
    wait_until_written(lock);
    throw_failure();
  }

  /// Returns when all events added before are on the disk: they survive the end of this machine. Throws where that failed.
  void sync() {
    std::unique_lock lock(mutex_);
    if (thread_.joinable()) {
      const std::uint64_t request = ++syncs_asked_;
      wake_writer();
      done_.wait(lock, [&] { return syncs_done_ >= request; });
    }
    throw_failure();
  }

  /// Writes what waits and closes the file; adding is an error from then on. A second call does nothing. Throws where something failed.
  void close() {
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

  [[nodiscard]] const std::string& get_logdir() const noexcept { return logdir_; }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // that may wait, beside the number of events
  static constexpr std::size_t kManyBytes = std::size_t{1} << 20;   // that are worth waking the writing thread

  /// `append` gets the batch's bytes and the time; called under the lock.
  template <class Append>
  void add(const Append& append) {
    const double now = clock_.wall_seconds();
    std::unique_lock lock(mutex_);
    wait_for_room(lock);
    pending_.add_encoded([&](std::string& bytes) { append(bytes, now); });
    added(lock);
  }

  void wait_for_room(std::unique_lock<std::mutex>& lock) {
    const auto has_room = [this] {
      return pending_.size() < max_queue_ && (pending_.byte_size() < kMostBytes || pending_.empty());
    };
    if (!has_room() && failure_ == nullptr && !closed_) {
      wake_writer();
      room_.wait(lock, [&] { return has_room() || failure_ != nullptr || closed_; });
    }
    if (closed_) throw FailedPreconditionError("the FileWriter of ", logdir_, " is closed: it takes no more events");
    throw_failure();
    if (!thread_.joinable()) thread_ = std::thread([this] { write_until_closed(); });
  }

  /// Wakes the writing thread for the first event, which creates the file, and for a queue that fills; otherwise it wakes by itself.
  void added(std::unique_lock<std::mutex>& lock) {
    const bool worth_waking = ++added_ == 1 || 2 * pending_.size() >= max_queue_ || pending_.byte_size() >= kManyBytes;
    if (!worth_waking || woken_) return;
    woken_ = true;
    lock.unlock();
    work_.notify_one();
  }

  void wake_writer() {
    woken_ = true;
    work_.notify_one();
  }

  void wait_until_written(std::unique_lock<std::mutex>& lock) {
    if (written_ >= added_) return;
    const std::uint64_t target = added_;
    wake_writer();
    done_.wait(lock, [&] { return written_ >= target; });
  }

  void throw_failure() {
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  void write_until_closed() noexcept {
    std::unique_lock lock(mutex_);
    detail::EventBatch batch;
    for (bool last = false; !last;) {
      // By the machine's time whatever clock was given: how soon bytes reach the file is no part of what a program computes.
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

  /// Null, or what went wrong and what it cost.
  std::exception_ptr write(const detail::EventBatch& batch, bool synced) noexcept {
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
        const std::string lost = written ? "what this file holds may be lost" : str_cat(batch.size(), are_lost);
        throw_error(error.code(), str_cat(error.what(), "; ", lost, ", later events for ", logdir_, " go to a new file"));
      }
    } catch (...) {
      return std::current_exception();
    }
  }

  const std::string logdir_;
  const std::size_t max_queue_;
  const Duration flush_secs_;
  Clock& clock_;

  std::mutex mutex_;
  std::condition_variable work_;  // for the writing thread
  std::condition_variable room_;  // for those who add
  std::condition_variable done_;  // for those who flush
  detail::EventBatch pending_;
  std::set<std::string, std::less<>> run_metadata_tags_;
  std::exception_ptr failure_;  // nobody was told of it yet
  std::uint64_t added_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t syncs_asked_ = 0;
  std::uint64_t syncs_done_ = 0;
  bool woken_ = false;
  bool closed_ = false;

  detail::EventFile file_;  // these two: the writing thread's alone
  std::string records_;
  std::thread thread_;
};

}  // namespace trainhook
