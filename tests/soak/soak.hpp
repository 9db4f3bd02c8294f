// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the parts of the soak share.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>

#include "training.hpp"

namespace soak {

namespace fs = std::filesystem;

/// The arguments of the program.
struct Soak {
  fs::path folder{};
  std::uint64_t every = 1;  ///< only each n-th crash point
  std::uint64_t seed = 1;

  [[nodiscard]] std::string directory(std::string_view name) const { return (folder / name).string(); }
};

/// What a part has found.
class Findings {
 public:
  explicit Findings(std::string_view part) : part_(part) {}

  void count(std::uint64_t cases = 1) noexcept { cases_ += cases; }
  void report(const std::string& finding) {
    ++lost_;
    fmt::print(stderr, "soak: {}: {}\n", part_, finding);
  }
  [[nodiscard]] int finish() const {
    fmt::print("soak: {:<12}{:>8} cases, {} lost\n", part_, cases_, lost_);
    return lost_ == 0 ? 0 : 1;
  }

 private:
  std::string_view part_;
  std::uint64_t cases_ = 0;
  std::uint64_t lost_ = 0;
};

/// The contents of every checkpoint in a directory, by file name.
using Files = std::map<std::string, std::string>;

inline bool is_kept(const std::string& name) {
  return name.find(".ckpt-") != std::string::npos || name == "checkpoint" || name == "checkpoint_input";
}

inline Files checkpoint_files(const fs::path& directory) {
  Files files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (is_kept(name)) files[name] = th::read_file(th::posix_file_system(), entry.path().string());
  }
  return files;
}

/// How a directory differs from one of a run that nothing happened to, or nothing.
inline std::optional<std::string> difference(const Files& wanted, const Files& mine) {
  for (const auto& [name, contents] : wanted) {
    const auto found = mine.find(name);
    if (found == mine.end()) return fmt::format("{} is missing", name);
    if (found->second != contents) return fmt::format("{} differs", name);
  }
  for (const auto& [name, contents] : mine) {
    if (!wanted.contains(name)) return fmt::format("{} is left over", name);
  }
  return std::nullopt;
}

/// Runs `body` in a process of its own; returns its wait status.
inline int in_child(
    const std::function<void()>& body, const std::function<void(pid_t)>& meanwhile = [](pid_t) {}) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& error) {
      fmt::print(stderr, "soak: a run failed: {}\n", error.what());
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  meanwhile(child);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

inline bool was_killed(int status) { return WIFSIGNALED(status); }
inline bool succeeded(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

/// The same setup in a directory of the disk.
inline Setup in_directory(Setup setup, std::string directory) {
  setup.directory = std::move(directory);
  return setup;
}

/// What the setup leaves on the disk if nothing happens.
inline Files undisturbed(const Soak& soak, const Setup& setup) {
  const std::string directory = soak.directory("whole");
  fs::remove_all(directory);
  if (!succeeded(in_child([&] { train(in_directory(setup, directory), th::posix_file_system()); })))
    throw th::InternalError("the run that nothing happens to fails");
  return checkpoint_files(directory);
}

// The parts. Each returns the exit status of the program.

/// Kills, power losses and failing calls at each file call, on disks in memory.
int audits(const Soak& soak);

/// Files flipped, cut, zeroed, grown and removed between two halves of a run.
int damage(const Soak& soak);

/// Disks in memory that are too small, in all sizes.
int full_disks(const Soak& soak);

/// The same with the machine's own file system in memory, if it may be mounted.
int small_tmpfs(const Soak& soak);

/// SIGKILL at each file call of a real process on a real disk.
int kills(const Soak& soak);

/// Forty signals at any moment, to one run.
int signals(const Soak& soak);

/// Signals that end a run, at any moment.
int stops(const Soak& soak);

/// Two processes that start together on one directory, and the holder killed.
int two_processes(const Soak& soak);

/// Three million steps.
int long_run(const Soak& soak);

}  // namespace soak
