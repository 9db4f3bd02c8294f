// SPDX-License-Identifier: Apache-2.0
/// @file
/// A directory of its own for each test, and what it takes to fill it with compressed files.
#pragma once

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <zlib.h>

#include "temporary_folder.hpp"

namespace trainhook {

class MediaFiles {
 public:
  [[nodiscard]] const std::string& directory() const { return folder_.path(); }

  /// Writes the file and gives its path.
  [[nodiscard]] std::string put(const std::string& name, std::string_view contents) const {
    const std::string path = folder_.file(name);
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(contents.data(), static_cast<std::streamsize>(contents.size()));
    return path;
  }

 private:
  support::TemporaryFolder folder_;
};

inline std::string gzip_of(std::string_view contents) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("no deflate");
  std::string input(contents);
  std::string bytes(deflateBound(&stream, input.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  if (!done) throw std::runtime_error("deflate did not finish");
  return bytes;
}

inline std::string noise(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : text) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24);
  }
  return text;
}

}  // namespace trainhook
