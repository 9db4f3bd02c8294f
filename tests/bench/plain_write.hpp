// SPDX-License-Identifier: Apache-2.0
/// @file
/// A file with the bytes of tensors, on the disk: what a checkpoint cannot do without.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::bench {

/// What the disk gives: no names, no checksums, nothing to commit.
inline void write_plainly(const std::string& path, const std::vector<Tensor>& parts) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool good = file >= 0;
  for (const Tensor& part : parts) {
    for (std::span<const std::byte> rest = part.bytes(); good && !rest.empty();) {
      const ssize_t written = ::write(file, rest.data(), rest.size());
      good = written > 0;
      if (good) rest = rest.subspan(static_cast<std::size_t>(written));
    }
  }
  good = good && ::fsync(file) == 0;
  if (file >= 0) ::close(file);
  if (!good) throw UnavailableError("cannot write {}", path);
}

}  // namespace trainhook::bench
