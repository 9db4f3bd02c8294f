// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/media/gzip.hpp>

#include <algorithm>
#include <memory>

#include <trainhook/core/error.hpp>

namespace trainhook {

GzipReader::GzipReader(const ReadableFile& file) : file_(file), size_(file.size()) {
  constexpr int kGzipOnly = 16;  // added to the window size: takes no zlib and no raw streams
  if (inflateInit2(&stream_, kGzipOnly + MAX_WBITS) != Z_OK)
    throw ResourceExhaustedError("no memory to decompress {}", file_.path());
}

std::size_t GzipReader::read(std::span<std::byte> into) {
  std::size_t filled = 0;
  while (filled < into.size() && !ended_) {
    const std::size_t room = (std::min<std::size_t>)(into.size() - filled, std::size_t{1} << 30);
    stream_.next_out = reinterpret_cast<Bytef*>(into.data() + filled);
    stream_.avail_out = static_cast<uInt>(room);
    inflate_some();
    filled += room - stream_.avail_out;
  }
  return filled;
}

bool GzipReader::at_end() {
  std::byte more{};
  return read({&more, 1}) == 0;
}

void GzipReader::inflate_some() {
  if (stream_.avail_in == 0 && offset_ < size_) refill();
  const bool no_input = stream_.avail_in == 0;
  const int result = inflate(&stream_, Z_NO_FLUSH);
  if (result == Z_STREAM_END) {
    finish_member();
  } else if (result == Z_MEM_ERROR) {
    throw ResourceExhaustedError("no memory to decompress {}", file_.path());
  } else if (result != Z_OK && result != Z_BUF_ERROR) {
    throw DataLossError("{} is not a gzip file, or is damaged near byte {}: {} (get a new copy of it)", file_.path(),
                        position(), stream_.msg != nullptr ? stream_.msg : "inflate failed");
  } else if (no_input && stream_.avail_out != 0) {
    throw DataLossError("{} is truncated: it ends at byte {} inside the compressed data (get a new copy of it)",
                        file_.path(), size_);
  }
}

void GzipReader::finish_member() {
  if (stream_.avail_in == 0 && offset_ < size_) refill();
  if (stream_.avail_in == 0) {
    ended_ = true;
  } else if (inflateReset(&stream_) != Z_OK) {
    throw InternalError("zlib cannot read the next member of {}", file_.path());
  }
}

void GzipReader::refill() {
  const std::size_t count = static_cast<std::size_t>((std::min<std::uint64_t>)(input_.size(), size_ - offset_));
  file_.read_at(offset_, std::as_writable_bytes(std::span(input_.data(), count)));
  offset_ += count;
  stream_.next_in = input_.data();
  stream_.avail_in = static_cast<uInt>(count);
}

std::string read_gzip_file(FileSystem& file_system, const std::string& path, std::size_t max_size) {
  constexpr std::size_t kFirstPiece = 64 * 1024;
  const std::unique_ptr<ReadableFile> file = file_system.open_readable(path);
  GzipReader reader(*file);
  std::string contents;
  std::size_t filled = 0;
  while (filled == contents.size() && filled < max_size) {
    contents.resize((std::min)(max_size, (std::max)(kFirstPiece, 2 * filled)));
    filled += reader.read(std::as_writable_bytes(std::span(contents)).subspan(filled));
  }
  if (filled == max_size && !reader.at_end()) {
    throw ResourceExhaustedError("{} holds more than the {} bytes that it may have", path, max_size);
  }
  contents.resize(filled);
  return contents;
}

}  // namespace trainhook
