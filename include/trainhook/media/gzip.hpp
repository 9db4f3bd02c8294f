// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads gzip files through the FileSystem, as a stream or as a whole. Verifies every checksum; the caller limits the
/// memory.
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

namespace detail {

/// Deflate never expands one byte to more than this many, so a larger claim is known to be false before decompressing.
inline constexpr std::uint64_t kMostGzipExpansion = 1032;

}  // namespace detail

/// Reads a gzip file; several members are read as one stream, as `gunzip` does. Not thread-safe; `file` must outlive
/// the reader. Damage is a DataLossError that names the file.
class GzipReader {
 public:
  TRAINHOOK_DECL explicit GzipReader(const ReadableFile& file);
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  ~GzipReader() { inflateEnd(&stream_); }

  /// Reads up to `into.size()` bytes and returns their number, which is smaller only at the end of an intact file.
  [[nodiscard]] TRAINHOOK_DECL std::size_t read(std::span<std::byte> into);

  /// Whether the end is reached. Reads as far as necessary to verify the last checksum.
  [[nodiscard]] TRAINHOOK_DECL bool at_end();

 private:
  TRAINHOOK_DECL void inflate_some();
  TRAINHOOK_DECL void finish_member();
  TRAINHOOK_DECL void refill();

  [[nodiscard]] std::uint64_t position() const noexcept { return offset_ - stream_.avail_in; }

  const ReadableFile& file_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;  // of the first byte not yet read from the file
  bool ended_ = false;
  std::array<Bytef, 64 * 1024> input_{};
  z_stream stream_{};
};

/// The decompressed contents of the gzip file `path`.
/// @throws DataLossError for a file that is not a gzip file, truncated or damaged; ResourceExhaustedError if they
/// exceed `max_size` bytes.
[[nodiscard]] TRAINHOOK_DECL std::string read_gzip_file(FileSystem& file_system, const std::string& path,
                                                        std::size_t max_size);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/gzip.ipp>
#endif
