// SPDX-License-Identifier: Apache-2.0
/// @file
/// A folder for the files of one benchmark, gone when it is over.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

namespace trainhook::bench {

/// Below TRAINHOOK_BENCH_DIR, or the place for temporary files: on the disk that is to be measured.
class Folder {
 public:
  explicit Folder(const std::string& name) {
    const char* given = std::getenv("TRAINHOOK_BENCH_DIR");
    const std::filesystem::path parent =
        given != nullptr ? std::filesystem::path(given) : std::filesystem::temp_directory_path();
    path_ = parent / ("trainhook-bench-" + name + "-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace trainhook::bench
