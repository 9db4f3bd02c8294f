// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/file_sources.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/records.hpp>

namespace trainhook::detail {

/// Reads a file's lines from any offset on.
class LineReader {
 public:
  LineReader(std::unique_ptr<ReadableFile> file, std::uint64_t offset)
      : file_(std::move(file)), size_(file_->size()), offset_(offset) {}

  /// The offset of the next line.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

  /// Reads the next line without its end, `\n` or `\r\n`. The rest after the last end is a line unless it is empty.
  [[nodiscard]] bool next(std::string& line) {
    line.clear();
    if (offset_ >= size_) return false;
    while (offset_ < size_) {
      if (used_ == chunk_.size()) fill();
      const std::string_view left = std::string_view(chunk_).substr(used_);
      const std::size_t end = left.find('\n');
      line += left.substr(0, end);
      const std::size_t taken = end == std::string_view::npos ? left.size() : end + 1;
      used_ += taken;
      offset_ += taken;
      if (end != std::string_view::npos) break;
    }
    if (line.ends_with('\r')) line.pop_back();
    return true;
  }

 private:
  static constexpr std::uint64_t kChunk = 64 * 1024;

  void fill() {
    chunk_.resize(static_cast<std::size_t>((std::min)(kChunk, size_ - offset_)));
    file_->read_at(offset_, std::as_writable_bytes(std::span(chunk_)));
    used_ = 0;
  }

  std::unique_ptr<ReadableFile> file_;
  std::uint64_t size_;
  std::uint64_t offset_;
  std::string chunk_;
  std::size_t used_ = 0;
};

/// Reads files one after the other. Its state is a file's number and an offset, so a restore opens only one file.
template <class Reader>
class FileStream final : public ElementStream {
 public:
  FileStream(std::shared_ptr<const std::vector<std::string>> paths, FileSystem& file_system)
      : paths_(std::move(paths)), file_system_(&file_system) {}

  bool next(Element& element) override {
    while (file_ < paths_->size()) {
      if (!reader_) reader_.emplace(file_system_->open_readable((*paths_)[file_]), offset_);
      if (next_of_file()) {
        offset_ = reader_->offset();
        element.assign(1, Tensor(std::string_view(text_)));
        return true;
      }
      reader_.reset();
      offset_ = 0;
      ++file_;
    }
    return false;
  }
  void save(StateWriter& writer) override {
    writer.integer(file_);
    writer.integer(offset_);
  }
  void restore(StateReader& reader) override {
    file_ = static_cast<std::size_t>(reader.integer("the number of a file", paths_->size()));
    offset_ = reader.integer("the offset in a file");
    if (offset_ == 0 || file_ == paths_->size()) return;
    const std::string& path = (*paths_)[file_];
    const std::uint64_t size = file_system_->file_size(path);
    if (offset_ > size) reader.fail(fmt::format("it is at byte {} of {}, which has {}", offset_, path, size));
  }

 private:
  bool next_of_file() {
    try {
      return reader_->next(text_);
    } catch (...) {
      reader_.reset();  // it may have read half an element; the next call begins at `offset_` again
      throw;
    }
  }

  std::shared_ptr<const std::vector<std::string>> paths_;
  FileSystem* file_system_;
  std::optional<Reader> reader_;
  std::string text_;
  std::size_t file_ = 0;
  std::uint64_t offset_ = 0;
};

template <class Reader>
class FileNode final : public DatasetNode {
 public:
  FileNode(std::string name, std::vector<std::string> paths, FileSystem& file_system)
      : DatasetNode({}, {{DType::String, PartialShape(Shape{})}}),
        name_(std::move(name)),
        paths_(std::make_shared<const std::vector<std::string>>(std::move(paths))),
        file_system_(&file_system.at_current_directory()) {}

  /// Omits the paths, because data may move between two runs.
  [[nodiscard]] std::string describe() const override { return fmt::format("{}[{} files]", name_, paths_->size()); }
  [[nodiscard]] std::int64_t cardinality() const override { return paths_->empty() ? 0 : kUnknownCardinality; }
  [[nodiscard]] std::unique_ptr<ElementStream> elements(const Pass&) const override {
    return std::make_unique<FileStream<Reader>>(paths_, *file_system_);
  }
  void add_sources(std::vector<SourceDigest>& found) const override {
    const std::scoped_lock lock(mutex_);
    sizes_.resize(paths_->size());
    for (std::size_t i = 0; i < paths_->size(); ++i) {
      const std::string& path = (*paths_)[i];
      if (!sizes_[i]) sizes_[i] = size_of(path);
      found.push_back({std::string(base_name(path)), sizes_[i]});
    }
  }

 private:
  /// Returns nothing if the file cannot be examined: a save must not fail because of that.
  [[nodiscard]] std::optional<std::uint64_t> size_of(const std::string& path) const {
    try {
      return file_system_->file_size(path);
    } catch (const Error&) { return std::nullopt; }
  }

  std::string name_;
  std::shared_ptr<const std::vector<std::string>> paths_;
  FileSystem* file_system_;
  mutable std::mutex mutex_;
  mutable std::vector<std::optional<std::uint64_t>> sizes_;  // those that were asked for
};

}  // namespace trainhook::detail

namespace trainhook {

Dataset text_line_dataset(std::vector<std::string> paths, FileSystem& file_system) {
  return Dataset(
      std::make_shared<detail::FileNode<detail::LineReader>>("text_line_dataset", std::move(paths), file_system));
}

Dataset tf_record_dataset(std::vector<std::string> paths, FileSystem& file_system) {
  return Dataset(
      std::make_shared<detail::FileNode<detail::RecordReader>>("tf_record_dataset", std::move(paths), file_system));
}

}  // namespace trainhook
