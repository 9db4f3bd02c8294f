// SPDX-License-Identifier: Apache-2.0
/// @file
/// InputFiles: the names of the files with the positions of input pipelines, and which of them belong to a step.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/checkpoint_directory.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// Bundles `<basename>-<step>` of a process alone. In a job each process has one, `input_worker_<process>.ckpt-<step>`
/// for the basename `input.ckpt`. The first one has the number of processes in it, which tells how many belong to the
/// step. One state file lists all.
class InputFiles {
 public:
  /// Which process of a job this is, and how many there are.
  struct Process {
    int number = 0;
    int count = 1;
  };

  /// Step and process of a file.
  using File = std::pair<std::int64_t, int>;
  static constexpr int kAlone = -1;  ///< the process of a file that is no job's

  /// In each file of a job: the number of processes, an int64 scalar.
  static constexpr std::string_view kNumProcesses = "_trainhook/num_processes";

  struct Name {
    int process = kAlone;
    std::optional<std::int64_t> step{};  ///< nothing in a name such as `input.ckpt-4-copy`
  };

  InputFiles(FileSystem& file_system, std::string basename, std::string latest_filename, Process process)
      : file_system_(&file_system),
        basename_(std::move(basename)),
        latest_filename_(std::move(latest_filename)),
        process_(process) {}

  [[nodiscard]] const std::string& basename() const noexcept { return basename_; }
  [[nodiscard]] const std::string& latest_filename() const noexcept { return latest_filename_; }
  [[nodiscard]] const Process& process() const noexcept { return process_; }

  /// This process's file of that step.
  [[nodiscard]] File own(std::int64_t step) const { return {step, process_.count > 1 ? process_.number : kAlone}; }
  [[nodiscard]] TRAINHOOK_DECL std::string prefix_of(const std::string& directory, File file) const;

  /// The parts of a file's name; nothing for a name that is not one of these files.
  [[nodiscard]] TRAINHOOK_DECL std::optional<Name> parse(std::string_view name) const;

  /// The files in the directory, or which the state file lists: all that were saved and not removed since, even if
  /// their index is lost.
  [[nodiscard]] TRAINHOOK_DECL std::set<File> saved(const std::string& directory) const;

  /// The files that the state file of the directory lists.
  [[nodiscard]] TRAINHOOK_DECL std::set<File> listed(const std::string& directory) const;

  [[nodiscard]] TRAINHOOK_DECL CheckpointDirectory listing(const std::string& directory) const;

  /// Those of `there` that were saved by this library: the state file lists them or marks name them. If there is none,
  /// or it was written before there were marks, all.
  /// @param list gets the marks of files of steps up to `last`
  [[nodiscard]] TRAINHOOK_DECL std::set<File> own(std::set<File> there, CheckpointDirectory& list,
                                                  std::int64_t last) const;

  /// The prefixes that this process reads to continue from `step`; empty if nothing was saved then. The first one is to
  /// be restored. There are others only for the first process, which compares the files of a job of another size.
  /// @throws DataLossError if one has lost its index, or if they are not of one save.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> find(const std::string& directory, std::int64_t step) const;

  /// @throws FailedPreconditionError, with the way out, if the positions in these files differ.
  TRAINHOOK_DECL void expect_same_positions(const std::vector<std::string>& prefixes) const;

 private:
  // The number of processes that wrote the file; nothing if it is not a job's.
  [[nodiscard]] TRAINHOOK_DECL std::optional<int> num_processes_of(const std::string& prefix) const;

  FileSystem* file_system_;
  std::string basename_;
  std::string latest_filename_;
  Process process_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/input_files.ipp>
#endif
