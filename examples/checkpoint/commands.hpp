// SPDX-License-Identifier: Apache-2.0
/// @file
/// The commands of `checkpoint`. Each prints its answer and returns the exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/checkpoint/tensor_bundle.hpp>

inline constexpr int kFine = 0;
inline constexpr int kDamagedOrDifferent = 1;
inline constexpr int kNoAnswer = 2;  // a wrong command line, no such checkpoint, or of a format that is not read

// directories.cpp
int list(const std::string& directory, bool as_json);
int prune(const std::string& directory, int keep, bool dry_run, bool as_json);
int events(const std::string& directory_or_file, bool as_json);

/// All checkpoints of a directory, input positions included: first those that its state file does not list, then the
/// listed ones, oldest first. A listed one may be missing.
std::vector<std::string> checkpoints_in(const std::string& directory);

/// What is wrong with the directory's state file.
std::optional<std::string> damage_of_state_file(const std::string& directory);

/// Lines about files that belong to no checkpoint, because a save or a removal did not end, or has not yet.
std::vector<std::string> left_over_in(const std::string& directory);

// tensors.cpp
int show(const std::string& prefix_or_directory, const std::string& tensor, bool as_json);
int diff(const std::string& a, const std::string& b, bool as_json);
int average(const std::string& out, const std::vector<std::string>& inputs);

/// The size of a tensor's elements; of a string tensor, that of its data in the file.
std::uint64_t bytes_of(const trainhook::BundleEntry& entry);

// exchange.cpp
struct ExportChoices {
  std::string tensor{};  // of a .npy file
  std::string only{};    // the beginning of names
  std::vector<std::string> rename{};
  std::string dtype{};  // empty: as it is
  std::uint64_t max_shard_size = 0;
};
int export_checkpoint(const std::string& prefix_or_directory, const std::string& out, const ExportChoices& choices);
int import_checkpoint(const std::string& file, const std::string& out, const std::vector<std::string>& rename);

// verify.cpp
int verify(const std::string& prefix_or_directory, bool as_json);
