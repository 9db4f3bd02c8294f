// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads gzip files through the FileSystem, as a stream or at once, with every checksum verified and memory bounded by
/// the caller.
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

/// Deflate never makes more than this many bytes of one: a claim beyond it is false before anything is decompressed.
inline constexpr std::uint64_t kMostGzipExpansion = 1032;

/// A gzip file from its start to its end; several members in a row read as one stream, as `gunzip` does it.
/// For one thread at a time; `file` must outlive it. Errors are DataLossError and name the file.
class GzipReader {
 public:
  TRAINHOOK_DECL explicit GzipReader(const ReadableFile& file);
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  ~GzipReader() { inflateEnd(&stream_); }

  /// Fills `into` from the front and says how many bytes there were: fewer than asked for only at the end of a file
  /// that is whole.
  [[nodiscard]] TRAINHOOK_DECL std::size_t read(std::span<std::byte> into);

  /// Whether nothing follows. Reads on as far as is needed to verify the last checksum.
  [[nodiscard]] TRAINHOOK_DECL bool at_end();

 private:
  TRAINHOOK_DECL void inflate_some();
  TRAINHOOK_DECL void finish_member();
  TRAINHOOK_DECL void refill();

  [[nodiscard]] std::uint64_t position() const noexcept { return offset_ - stream_.avail_in; }

  const ReadableFile& file_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;  // of the first byte that was not read from the file
  bool ended_ = false;
  std::array<Bytef, 64 * 1024> input_{};
  z_stream stream_{};
};

/// Everything that the gzip file `path` holds.
/// @throws DataLossError for a file that is not a gzip file, truncated or damaged; ResourceExhaustedError if it holds
/// more than `max_size` bytes.
[[nodiscard]] TRAINHOOK_DECL std::string read_gzip_file(FileSystem& file_system, const std::string& path,
                                                        std::size_t max_size);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/gzip.ipp>
#endif
