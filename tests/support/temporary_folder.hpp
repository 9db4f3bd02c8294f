// SPDX-License-Identifier: Apache-2.0
/// @file
/// A folder of its own on the machine's disk, which goes when the test does.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <stdlib.h>

namespace trainhook::support {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    constexpr int kRandomLetters = 6;  // mkdtemp replaces that many X
    path_ = (std::filesystem::temp_directory_path() / "trainhook-").string() + std::string(kRandomLetters, 'X');
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder could be made like " + path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace trainhook::support
