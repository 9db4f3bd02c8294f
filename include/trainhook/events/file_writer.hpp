// SPDX-License-Identifier: Apache-2.0
/// @file
/// FileWriter: writes events for TensorBoard on a background thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/event_errors.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/session_log.hpp>
#include <trainhook/events/summary.hpp>

namespace trainhook {

class Clock;
class FileSystem;

namespace detail {

/// Anything that converts to a `std::span` of numbers that a histogram can count.
template <class Values>
concept HistogramValues =
    requires(const Values& values) { requires HistogramElement<typename decltype(std::span(values))::value_type>; };

}  // namespace detail

struct FileWriterOptions {
  /// The number of events that may wait to be written; if the queue is full, `add_...` waits.
  std::size_t max_queue = 1024;
  /// The longest time until an event is in the file. TensorBoard reads every five seconds; TensorFlow's default is two
  /// minutes.
  Duration flush_secs = std::chrono::seconds(5);
  /// Appended to the file's name.
  std::string filename_suffix{};
  /// What to do if the disk fails.
  EventErrors on_error = EventErrors::Warn;
  FileSystem* file_system = nullptr;  ///< null: the disk; must outlive the writer
  Clock* clock = nullptr;             ///< null: the system's clock; must outlive the writer
};

/// Writes events to a new file in `logdir`, which is created with the first event. `add_...` puts an event into a
/// queue, which a background thread writes in batches. Any thread may call any member. Use one writer per directory
/// (`FileWriterCache`): if two write the same tags, TensorBoard drops points of both.
///
/// If a write fails, its events are lost, and later ones go to another file: see EventErrors. A file or directory that
/// is removed is made again, with a warning, without the events that it had. After restoring step R, call `restart_at`
/// for the step after it, as a monitored session does for its hooks: TensorBoard then drops the events of the lost
/// steps. Source: `tf.compat.v1.summary.FileWriter`.
class FileWriter {
 public:
  /// Creates no file yet. @throws InvalidArgumentError for a `max_queue` or `flush_secs` of zero.
  TRAINHOOK_DECL explicit FileWriter(std::string logdir, FileWriterOptions options = {});
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Closes the file. Logs an error that was not thrown before.
  TRAINHOOK_DECL ~FileWriter();

  /// Adds a point to the curve `tag`, stored as float. Does not allocate once the queue has grown.
  TRAINHOOK_DECL void add_scalar(std::string_view tag, double value, std::int64_t step);

  /// Adds a histogram of the numbers in a vector, array or span. They are copied here and counted on the background
  /// thread.
  /// @throws InvalidArgumentError, naming `tag`, if a value is NaN or infinite.
  template <detail::HistogramValues Values>
  void add_histogram(std::string_view tag, const Values& values, std::int64_t step) {
    const std::span elements(values);
    using Value = typename decltype(elements)::value_type;
    const Shape shape{static_cast<std::int64_t>(elements.size())};
    if constexpr (TensorElement<Value> && !std::is_same_v<Value, bool>) {
      add_histogram(tag, Tensor::copy_of(std::span<const Value>(elements), shape), step);
    } else {
      Tensor numbers = Tensor::uninitialized(DType::Double, shape);
      const std::span<double> copies = numbers.overwrite_data<double>();
      for (std::size_t i = 0; i < copies.size(); ++i) copies[i] = static_cast<double>(elements[i]);
      add_histogram(tag, numbers, step);
    }
  }

  /// Adds a histogram of a tensor's elements. They are copied only if the tensor is changed before they are counted.
  TRAINHOOK_DECL void add_histogram(std::string_view tag, Tensor values, std::int64_t step);

  /// Adds an encoded image; `media/png.hpp` encodes pixels.
  void add_image(std::string_view tag, const EncodedImage& image, std::int64_t step) {
    add_summary(image_summary(tag, image), step);
  }

  /// Adds a text in Markdown.
  void add_text(std::string_view tag, std::string_view markdown, std::int64_t step) {
    add_summary(text_summary(tag, markdown), step);
  }

  /// Adds a serialized Summary, from a function of `summary.hpp` or a summary operation of a graph.
  TRAINHOOK_DECL void add_summary(std::string_view summary, std::int64_t step);

  /// Adds a marker for TensorBoard, see `SessionLog`.
  TRAINHOOK_DECL void add_session_log(const SessionLog& session_log, std::int64_t step);

  /// Adds a START record before the next summary or run metadata, so that no file is created without them. If it is
  /// called several times before that, or a START record is added, there is one record, with the smallest step.
  TRAINHOOK_DECL void restart_at(std::int64_t step);

  /// Adds a serialized GraphDef, for the Graphs dashboard.
  TRAINHOOK_DECL void add_graph(std::string_view graph_def, std::int64_t global_step = 0);

  /// Adds a serialized MetaGraphDef. TensorBoard does not show it: add the graph too.
  TRAINHOOK_DECL void add_meta_graph(std::string_view meta_graph_def, std::int64_t global_step = 0);

  /// Adds a serialized RunMetadata. @throws InvalidArgumentError if `tag` was used before or is not UTF-8.
  TRAINHOOK_DECL void add_run_metadata(std::string_view run_metadata, std::string_view tag,
                                       std::int64_t global_step = 0);
  [[nodiscard]] TRAINHOOK_DECL bool has_run_metadata(std::string_view tag);

  /// Returns when the operating system has all events added so far: they survive the end of this process. If that
  /// fails, throws or warns according to `on_error`.
  TRAINHOOK_DECL void flush();

  /// Returns when all events added so far are on the disk: they survive a power cut. If that fails, throws or warns
  /// according to `on_error`.
  TRAINHOOK_DECL void sync();

  /// Writes the queued events and closes the file; adding is an error from then on. A second call does nothing. If
  /// something failed, throws or warns according to `on_error`.
  TRAINHOOK_DECL void close();

  /// Asks the disk whether it takes the names of this writer's files; creates nothing. A hook calls it in `begin`, so
  /// that no event is lost later. @throws InvalidArgumentError if the directory or the suffix is too long.
  TRAINHOOK_DECL void check_name() const;

  /// The number of events lost so far because the disk failed.
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t lost_events();

  [[nodiscard]] TRAINHOOK_DECL const std::string& get_logdir() const noexcept;
  [[nodiscard]] TRAINHOOK_DECL EventErrors on_error() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/file_writer.ipp>
#endif
