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
#include <mutex>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/event.hpp>
#include <trainhook/events/event_file.hpp>
#include <trainhook/events/event_queue.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

struct FileWriterOptions {
  /// Events that may wait for the writing thread before an `add_...` waits for it.
  std::size_t max_queue = 1024;
  /// Events reach the file at the latest after this time; TensorBoard looks every five seconds. TensorFlow's default is
  /// two minutes.
  Duration flush_secs = std::chrono::seconds(5);
  /// Ends the file's name.
  std::string filename_suffix{};
  FileSystem* file_system = nullptr;  ///< null: this machine's disk
  Clock* clock = nullptr;             ///< null: this machine's clocks
};

/// Writes events to a new file in `logdir`, which is created with the first event. An `add_...` puts the event into a
/// queue; a thread of this writer counts histograms and writes, each batch in one piece. Any thread may add.
///
/// A write that fails is reported by the next `add_...`, `flush`, `sync` or `close`, with the number of events that it
/// cost; the event that is just being added is not added. The file is abandoned and later events go to another one:
/// readers find nothing behind a torn record.
///
/// After restoring step R, call `add_session_log({SessionLog::Start}, R + 1)` first: TensorBoard then drops what the
/// lost steps wrote. One writer for a directory (`FileWriters`): two that write the same tags erase each other's data
/// in TensorBoard. (TensorFlow: tf.compat.v1.summary.FileWriter.)
class FileWriter {
 public:
  /// Touches no disk. @throws InvalidArgumentError for options that make no sense.
  TRAINHOOK_DECL explicit FileWriter(std::string logdir, FileWriterOptions options = {});
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Closes; a failure that nobody was told of is logged.
  TRAINHOOK_DECL ~FileWriter();

  /// A point on the curve `tag`, stored as float. Allocates nothing in the steady state.
  TRAINHOOK_DECL void add_scalar(std::string_view tag, double value, std::int64_t step);

  /// A histogram of numbers that lie in a row: a vector, array, span. They are copied here and counted on the writing
  /// thread.
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

  /// A histogram of a tensor's elements, which are not copied unless somebody writes to the tensor before they are
  /// counted.
  TRAINHOOK_DECL void add_histogram(std::string_view tag, Tensor values, std::int64_t step);

  /// An encoded image; `media/png.hpp` encodes pixels.
  void add_image(std::string_view tag, const EncodedImage& image, std::int64_t step) {
    add_summary(image_summary(tag, image), step);
  }

  /// A text in Markdown.
  void add_text(std::string_view tag, std::string_view markdown, std::int64_t step) {
    add_summary(text_summary(tag, markdown), step);
  }

  /// A serialized Summary, as the functions of `summary.hpp` and the summary operations of a graph give it.
  TRAINHOOK_DECL void add_summary(std::string_view summary, std::int64_t step);

  TRAINHOOK_DECL void add_session_log(const SessionLog& session_log, std::int64_t step);

  /// A serialized GraphDef, for the Graphs dashboard.
  TRAINHOOK_DECL void add_graph(std::string_view graph_def, std::int64_t global_step = 0);

  /// A serialized MetaGraphDef. TensorBoard shows none: add the graph too.
  TRAINHOOK_DECL void add_meta_graph(std::string_view meta_graph_def, std::int64_t global_step = 0);

  /// A serialized RunMetadata under a tag of its own. @throws InvalidArgumentError for a tag that this writer had
  /// before.
  TRAINHOOK_DECL void add_run_metadata(std::string_view run_metadata, std::string_view tag,
                                       std::int64_t global_step = 0);
  [[nodiscard]] TRAINHOOK_DECL bool has_run_metadata(std::string_view tag);

  /// Returns when all events added before have been handed to the system: they survive the end of this process. Throws
  /// where that failed.
  TRAINHOOK_DECL void flush();

  /// Returns when all events added before are on the disk: they survive the end of this machine. Throws where that
  /// failed.
  TRAINHOOK_DECL void sync();

  /// Writes what waits and closes the file; adding is an error from then on. A second call does nothing. Throws where
  /// something failed.
  TRAINHOOK_DECL void close();

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

  TRAINHOOK_DECL void wait_for_room(std::unique_lock<std::mutex>& lock);

  /// Wakes the writing thread for the first event, which creates the file, and for a queue that fills; otherwise it
  /// wakes by itself.
  TRAINHOOK_DECL void added(std::unique_lock<std::mutex>& lock);

  void wake_writer() {
    woken_ = true;
    work_.notify_one();
  }

  TRAINHOOK_DECL void wait_until_written(std::unique_lock<std::mutex>& lock);
  TRAINHOOK_DECL void throw_failure();
  TRAINHOOK_DECL void write_until_closed() noexcept;

  /// Null, or what went wrong and what it cost.
  TRAINHOOK_DECL std::exception_ptr write(const detail::EventBatch& batch, bool synced) noexcept;

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

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/file_writer.ipp>
#endif
