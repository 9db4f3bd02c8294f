// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads gzip files through the FileSystem, as a stream or at once, with every checksum verified and memory bounded by the caller.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <zlib.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

/// Deflate never makes more than this many bytes of one: a claim beyond it is false before anything is decompressed.
inline constexpr std::uint64_t kMostGzipExpansion = 1032;

/// A gzip file from its start to its end; several members in a row read as one stream, as `gunzip` does it.
/// For one thread at a time; `file` must outlive it. Errors are DataLossError and name the file.
class GzipReader {
 public:
  explicit GzipReader(const ReadableFile& file) : file_(file), size_(file.size()) {
    constexpr int kGzipOnly = 16;  // added to the window size: takes no zlib and no raw streams
    if (inflateInit2(&stream_, kGzipOnly + MAX_WBITS) != Z_OK) throw ResourceExhaustedError("no memory to decompress ", file_.path());
  }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  ~GzipReader() { inflateEnd(&stream_); }

  /// Fills `into` from the front and says how many bytes there were: fewer than asked for only at the end of a file that is whole.
  [[nodiscard]] std::size_t read(std::span<std::byte> into) {
    std::size_t filled = 0;
    while (filled < into.size() && !ended_) {
      const std::size_t room = std::min<std::size_t>(into.size() - filled, std::size_t{1} << 30);
      stream_.next_out = reinterpret_cast<Bytef*>(into.data() + filled);
      stream_.avail_out = static_cast<uInt>(room);
      inflate_some();
      filled += room - stream_.avail_out;
    }
    return filled;
  }

  /// Whether nothing follows. Reads on as far as is needed to verify the last checksum.
  [[nodiscard]] bool at_end() {
    std::byte more{};
    return read({&more, 1}) == 0;
  }

 private:
  void inflate_some() {
    if (stream_.avail_in == 0 && offset_ < size_) refill();
    const bool no_input = stream_.avail_in == 0;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      finish_member();
    } else if (result == Z_MEM_ERROR) {
      throw ResourceExhaustedError("no memory to decompress ", file_.path());
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw DataLossError(file_.path(), " is no gzip file or damaged near byte ", position(), ": ",
                          stream_.msg != nullptr ? stream_.msg : "inflate failed", " (get a new copy of it)");
    } else if (no_input && stream_.avail_out != 0) {
      throw DataLossError(file_.path(), " is truncated: it ends at byte ", size_, " inside the compressed data (get a new copy of it)");
    }
  }

  void finish_member() {
    if (stream_.avail_in == 0 && offset_ < size_) refill();
    if (stream_.avail_in == 0) {
      ended_ = true;
    } else if (inflateReset(&stream_) != Z_OK) {
      throw InternalError("zlib cannot go on with the next member of ", file_.path());
    }
  }

  void refill() {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(input_.size(), size_ - offset_));
    file_.read_at(offset_, std::as_writable_bytes(std::span(input_.data(), count)));
    offset_ += count;
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(count);
  }

  [[nodiscard]] std::uint64_t position() const noexcept { return offset_ - stream_.avail_in; }

  const ReadableFile& file_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;  // of the first byte that was not read from the file
  bool ended_ = false;
  std::array<Bytef, 64 * 1024> input_{};
  z_stream stream_{};
};

/// Everything that the gzip file `path` holds.
/// @throws DataLossError for what is no gzip file, truncated or damaged; ResourceExhaustedError where it holds more than `max_size` bytes.
[[nodiscard]] inline std::string read_gzip_file(FileSystem& file_system, const std::string& path, std::size_t max_size) {
  constexpr std::size_t kFirstPiece = 64 * 1024;
  const std::unique_ptr<ReadableFile> file = file_system.open_readable(path);
  GzipReader reader(*file);
  std::string contents;
  std::size_t filled = 0;
  while (filled == contents.size() && filled < max_size) {
    contents.resize(std::min(max_size, std::max(kFirstPiece, 2 * filled)));
    filled += reader.read(std::as_writable_bytes(std::span(contents)).subspan(filled));
  }
  if (filled == max_size && !reader.at_end()) {
    throw ResourceExhaustedError(path, " holds more than the ", max_size, " bytes that it may have");
  }
  contents.resize(filled);
  return contents;
}

}  // namespace trainhook
